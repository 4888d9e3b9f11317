// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/graph_trace_policy.h"

#include <gtest/gtest.h>

// What the tests of GraphTracePolicy share.
namespace gd::cupti {

using Phase = GraphTracePolicy::Phase;
using Wanted = GraphTracePolicy::Wanted;

inline constexpr Wanted kNothing{false, false, false};
inline constexpr Wanted kGraphs{true, false, false};
inline constexpr Wanted kKernels{false, true, true};
inline constexpr Wanted kSync{false, false, true};
inline constexpr Wanted kAll{true, true, true};

using raw::RecordingLevel;

inline GraphTracePolicy at(RecordingLevel level) {
    GraphTracePolicy policy;
    policy.setLevel(level, 0);
    return policy;
}

inline bool make(GraphTracePolicy& policy, GraphTracePolicy::Contents contents = {}) {
    policy.instantiateBegan();
    EXPECT_TRUE(policy.wanted().graphTrace || policy.blocked());
    const bool traceable = policy.execCreated(contents, 0);
    policy.instantiateEnded();
    return traceable;
}

} // namespace gd::cupti
