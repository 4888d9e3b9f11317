// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::report {

// One collective, or one side of a message, on the device of one rank.
struct CommWork {
    std::int64_t kernelId = 0;
    std::int64_t startNs = 0, endNs = 0;
    std::int64_t commHash = 0; // 0: which communicator is not known
    std::string kind; // of nccl_op, "all_reduce"; empty: not known
    std::int64_t bytes = 0;
    std::int64_t peer = -1; // root or peer, a rank of the communicator
    std::int64_t waitNs = 0; // of this, time before the last rank that it needs had come
    std::int64_t name = 0; // of the kernel, in table string
    bool oneSided = false; // by its name a send or a receive
};

// What a device does at a time; between segments it is idle.
struct LaneSegment {
    enum class Kind : std::uint8_t { work, replay, transfer, wait }; // replay: as a whole, parts not recorded
    std::int64_t startNs = 0, endNs = 0;
    Kind kind = Kind::work;
};

// One rank in one step, as its device saw it: from the end of the step before to the end of its own work (as
// device_busy has it); without device work as the host saw it. Times are ns of the trace. nullopt: not known.
struct RankLane {
    std::int64_t processId = 0;
    std::optional<std::int64_t> rank;
    std::string host;
    std::int64_t deviceId = -1; // -1: no device work was recorded
    std::int64_t startNs = 0, endNs = 0;
    std::int64_t firstWorkNs = 0; // first work of the step on the device, its start without any
    std::optional<std::int64_t> busyNs, computeNs, commNs, exposedCommNs, idleNs;
    std::optional<std::int64_t> gapNs; // idle before replays, with its longest cause
    std::string gapCause;
    std::optional<std::int64_t> waitNs; // inside communication, for others
    std::optional<std::int64_t>
        heldUpNs; // what the others would gain if it came no later than the next to last
    std::string reason; // why figures are missing, a sentence
    std::vector<LaneSegment> segments; // sorted, disjoint
    std::vector<CommWork> comm; // by start
};

struct Arrival {
    std::size_t lane = 0; // index into StepComparison::lanes
    std::size_t work = 0; // index into its comm
};
// A collective that all its ranks in the trace ran in this step, or a message with both sides.
struct Collective {
    std::string kind;
    std::int64_t commHash = 0;
    std::int64_t nranks = 0;
    std::int64_t bytes = 0;
    std::vector<Arrival> arrivals; // by lane
    // From the first arrival to the last; nullopt: ranks of several hosts, whose clocks are not related.
    std::optional<std::int64_t> skewNs;
    std::size_t lastLane = 0; // who came last; meaningful with skewNs
};

// Ranks of one step side by side.
struct StepComparison {
    std::int64_t step = 0;
    std::vector<RankLane> lanes; // by rank, then process
    std::vector<Collective> collectives; // in the order in which the first lane of each runs them
    bool oneClock = true; // all lanes are of one host
    std::optional<std::size_t> slowest; // index into lanes
    std::string slowestWhy; // "the others wait 1.2 ms for it"
    std::vector<std::string> notes; // what is missing or not compared, a sentence each
};

// Steps that at least two processes of the trace have, ascending.
Result<std::vector<std::int64_t>> comparableSteps(Db& trace);

// Reads one step of every rank: facts, and of the kernels only those of the step. A step that fewer than two
// processes have is ErrorCode::notFound.
Result<StepComparison> compareRanks(Db& trace, std::int64_t step);

} // namespace gd::report
