// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/facts.h"
#include "tests/support/trace_builder.h"

#include <gtest/gtest.h>

namespace gd::facts {

using test::TraceBuilder;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

inline void build(TraceBuilder& trace, const FactsOptions& options = {}) {
    const Result<void> result = buildFacts(trace.db(), options);
    ASSERT_TRUE(result) << result.error().message;
}

// Step ranges "step" of `lengthNs` on thread 1, one after another from `lengthNs` on.
inline void addSteps(TraceBuilder& trace, int count, std::int64_t lengthNs) {
    for (int i = 0; i < count; ++i)
        trace.range(1, "step", (i + 1) * lengthNs, (i + 2) * lengthNs);
}

} // namespace gd::facts
