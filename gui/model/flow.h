// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/comm/matches.h"
#include "gui/model/details.h"
#include "gui/model/track_row.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::gui {

// A row of the trace that a flow begins or ends at. Times are ns of the trace clock.
struct FlowEnd {
    std::int64_t process = 0;
    TrackRow::Place place;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::string text; // its name
};

enum class FlowKind {
    launch, // a call and what it started
    child, // a replay and a kernel, copy or fill of it
    dependency, // what has to end first and what begins then: an edge of the graph, or the order of a stream
    collective, // two ranks' parts of one collective
};

// What one event hangs together with. `in` leads to it, `out` away from it; what `[` and `]` follow comes
// first. Never more than kMost in all, the rest is only counted.
struct Flow {
    static constexpr std::size_t kMost = 200;
    struct Link {
        FlowKind kind = FlowKind::launch;
        FlowEnd end; // the other end
    };
    std::vector<Link> in;
    std::vector<Link> out;
    // The same node of the graph in the replays of its executable before and after; no arrow leads there.
    std::optional<FlowEnd> sameBefore, sameAfter;
    std::size_t left = 0; // links beyond kMost
    std::vector<std::string> notes; // what was not found, and why
};

// Of a row of api_call, replay, kernel, memcpy, memset or nccl_op; other rows have none. Looks at the rows
// near in time, not at the whole trace: work that ran later than thousands of others after its launch is not
// found, and that is noted. `matches` may be null: collectives of kernels are not known then.
Result<Flow> readFlow(Db& db, const TrackRow::Place& place, const report::CommMatches* matches);

// The same as lines of the details panel.
std::vector<DetailRow> flowDetails(const Flow& flow);

} // namespace gd::gui
