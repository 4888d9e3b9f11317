// SPDX-License-Identifier: Apache-2.0
// The runtime table: graphdoctor_runtime_attach and its functions, which fill up older structs and report to
// the sink.
#include "collector/api/graphdoctor_runtime.h"
#include "collector/session/hooks.h"
#include "collector/session/sink.h"

#include <atomic>
#include <cstring>

namespace gd::runtime {

namespace {

namespace sink = session::sink;
using raw::CoverageSource;
using raw::CoverageState;
using raw::RecordingLevel;

char attachedName[128] = {};

/// Replays whose nodes are still to be recorded one by one at level standard; all executables share it.
std::atomic<int> nodeReplaysLeft{0};
constexpr int kNodeReplays = 16;

/// Launches outside graphs whose parameters are still recorded: those before the first replay, which its
/// graph is compared with. As many as for a CUDA process (cupti/client.h).
std::atomic<std::uint32_t> eagerLaunchesLeft{50'000};

void sayNodes(bool recorded) noexcept {
    sink::coverage(CoverageSource::node_activity, recorded ? CoverageState::Complete : CoverageState::Absent,
        recorded ? "" : "nodes are recorded in the first replays of each executable only");
}

/// A new executable: the next replays show their nodes.
void openNodeWindow() noexcept {
    if (nodeReplaysLeft.exchange(kNodeReplays, std::memory_order_relaxed) <= 0
        && sink::level() == RecordingLevel::Standard) {
        sayNodes(true);
    }
}

void replayed() noexcept {
    eagerLaunchesLeft.store(0, std::memory_order_relaxed);
    if (nodeReplaysLeft.load(std::memory_order_relaxed) > 0
        && nodeReplaysLeft.fetch_sub(1, std::memory_order_relaxed) == 1
        && sink::level() == RecordingLevel::Standard) {
        sayNodes(false);
    }
}

/// The caller's struct in this version's size: fields it does not know are 0, fields we do not know are
/// ignored.
template <class Struct> Struct current(const Struct* theirs) noexcept {
    Struct ours{};
    std::memcpy(&ours, theirs, theirs->size < sizeof ours ? theirs->size : sizeof ours);
    ours.size = sizeof ours;
    return ours;
}

void apiEnter(const gd_rt_api* call) {
    if (sink::enabled()) {
        sink::apiEnter(current(call));
    }
}
void apiExit(const gd_rt_api* call, std::int32_t result) {
    if (sink::enabled()) {
        sink::apiExit(current(call), result);
        if (call->api == GD_API_GRAPH_LAUNCH) {
            replayed();
        }
    }
}
void device(const gd_rt_device* device) {
    sink::device(current(device));
}
void context(gd_rt_life life, const gd_rt_object* object) {
    sink::context(life, current(object));
}
void stream(gd_rt_life life, const gd_rt_object* object) {
    sink::stream(life, current(object));
}
void event(gd_rt_life life, const gd_rt_object* object) {
    sink::event(life, current(object));
}
void graph(gd_rt_life life, const gd_rt_graph* graph) {
    sink::graph(life, current(graph));
}
void node(gd_rt_life life, const gd_rt_node* node) {
    sink::node(life, current(node));
}
void edge(gd_rt_life life, const gd_rt_edge* edge) {
    if (life != GD_RT_DESTROYED) {
        sink::edge(current(edge));
    }
}
void exec(gd_rt_life life, const gd_rt_exec* exec) {
    sink::exec(life, current(exec));
    if (life == GD_RT_CREATED && exec->result == 0) {
        openNodeWindow();
    }
}
void nodeParams(const gd_rt_node_params* params) {
    sink::nodeParams(current(params));
}
void alloc(const gd_rt_memory* memory) {
    sink::alloc(current(memory));
}
void free(const gd_rt_memory* memory) {
    sink::free(current(memory));
}
void activity(const gd_rt_activity* work) {
    if (sink::activityWanted()) {
        sink::activity(current(work));
    }
}
void comm(gd_rt_life life, const gd_rt_comm* comm) {
    sink::comm(life, current(comm), raw::CommSource::Runtime);
}
void commOp(const gd_rt_comm_op* op) {
    sink::commOp(current(op), raw::CommSource::Runtime);
}
void range(const gd_rt_range* range) {
    if (sink::mayRecord()) {
        sink::range(current(range));
    }
}
std::uint32_t activityWanted() {
    const RecordingLevel level = sink::level();
    const bool nodes = level == RecordingLevel::Full
        || (level == RecordingLevel::Standard && nodeReplaysLeft.load(std::memory_order_relaxed) > 0);
    return (level >= RecordingLevel::Light ? 1u : 0u) | (nodes ? 2u : 0u);
}

void block(const gd_rt_block* block) {
    sink::frameworkBlock(current(block));
}
void blockCoverage(gd_rt_follow state, std::int64_t fromNs, const char* reason) {
    sink::frameworkCoverage(
        state <= GD_RT_FOLLOW_COMPLETE ? static_cast<CoverageState>(state) : CoverageState::Absent, fromNs,
        reason != nullptr ? reason : "");
}
void status(gd_rt_status* status) {
    gd_rt_status now = sink::frameworkStatus();
    now.size = status->size;
    std::memcpy(status, &now, now.size < sizeof now ? now.size : sizeof now);
}
std::uint32_t otherProfiler(std::uint32_t active) {
    return session::otherProfiler(active != 0) ? 1 : 0;
}

void launch(const gd_rt_node_params* params, std::uint64_t stream) {
    std::uint32_t left = eagerLaunchesLeft.load(std::memory_order_relaxed);
    while (left != 0 && !eagerLaunchesLeft.compare_exchange_weak(left, left - 1)) { }
    if (left != 0 && sink::enabled()) {
        sink::eagerLaunch(current(params), stream);
    }
}

constexpr gd_rt_table kTable{
    sizeof(gd_rt_table),
    GD_RT_VERSION,
    &apiEnter,
    &apiExit,
    &device,
    &context,
    &stream,
    &event,
    &graph,
    &node,
    &edge,
    &exec,
    &nodeParams,
    &alloc,
    &free,
    &activity,
    &comm,
    &commOp,
    &range,
    &activityWanted,
    &block,
    &blockCoverage,
    &status,
    &otherProfiler,
    &launch,
};

void opened() noexcept {
    sink::fact("runtime", attachedName);
    for (const CoverageSource source : {CoverageSource::nccl_nvtx, CoverageSource::nccl_plugin}) {
        sink::coverage(source, CoverageState::Absent, "not a CUDA process");
    }
}

void levelChanged(RecordingLevel level, std::uint32_t) noexcept {
    const bool on = level != RecordingLevel::Off;
    const CoverageState calls = on ? CoverageState::Complete : CoverageState::Absent;
    for (const CoverageSource source :
        {CoverageSource::callbacks, CoverageSource::launch_callbacks, CoverageSource::node_params,
            CoverageSource::memory, CoverageSource::nvtx, CoverageSource::comm_ops}) {
        sink::coverage(source, calls, on ? "" : "recording is off");
    }
    const bool pauses = level < sink::levelWithoutPause();
    const char* why = !on ? "recording is off"
        : pauses          ? sink::kPausedForOverhead
                          : "the level records no device activity";
    const bool work = level >= RecordingLevel::Light;
    for (const CoverageSource source : {CoverageSource::graph_trace, CoverageSource::sync}) {
        sink::coverage(source, work ? CoverageState::Complete : CoverageState::Absent, work ? "" : why);
    }
    const bool eager = level >= RecordingLevel::Standard;
    sink::coverage(CoverageSource::eager_kernel_activity,
        eager ? CoverageState::Complete : CoverageState::Absent,
        eager      ? ""
            : work ? "the level records no eager work"
                   : why);
    if (eager) {
        sayNodes(level == RecordingLevel::Full || nodeReplaysLeft.load(std::memory_order_relaxed) > 0);
    } else {
        sink::coverage(CoverageSource::node_activity, CoverageState::Absent,
            work ? "the level records replays as a whole" : why);
    }
}

constexpr session::SourceHooks kHooks{&opened, &levelChanged, nullptr, nullptr, true};

} // namespace

} // namespace gd::runtime

extern "C" __attribute__((visibility("default"))) const gd_rt_table* graphdoctor_runtime_attach(
    std::uint32_t version, const char* runtimeName, clockid_t clock) {
    using namespace gd::runtime;
    if (version == 0 || version > GD_RT_VERSION || clock != CLOCK_MONOTONIC) {
        return nullptr;
    }
    if (runtimeName != nullptr) {
        if (attachedName[0] == '\0') {
            std::strncpy(attachedName, runtimeName, sizeof attachedName - 1);
        }
        gd::session::registerSource(&kHooks);
    }
    return &kTable;
}
