// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/control_page.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/ring_marks.h"

#include <cstdint>
#include <string_view>

/// The one internal entry for everything that is seen: CUPTI, NVTX, NCCL and the runtime table all report
/// here, in the structs of the public tool interface, so that nothing behind this line can tell them apart.
/// The sink derives capture states, first failing calls, pointer words and byte sums, takes stacks and
/// threads itself, and chooses the lane.
///
/// Every function may be called from any thread at any time, also inside a capture and in a forked child.
/// None blocks, throws or changes errno; a call from inside another call of the same thread (a signal
/// handler, or code of ours that ends in a reported call) returns at once. The process's spool is opened by
/// the first call that records. Structs must be complete (`size` is not looked at here; the runtime table
/// fills up older, shorter ones).
namespace gd::session::sink {

/// One word is read. False while the level is off or there is no spool: callers skip all their work then.
bool enabled() noexcept;
/// Also true while the level is off: for what must be followed then to be understood later. Of push and pop
/// ranges only steps are written meanwhile.
bool mayRecord() noexcept;
/// Device activity is wanted: level light or above.
bool activityWanted() noexcept;
/// The level now in force.
raw::RecordingLevel level() noexcept;
/// CLOCK_MONOTONIC.
std::int64_t nowNs() noexcept;
/// A variable of the job's environment as it was when the session opened, null before that. For threads of
/// ours, which may not ask getenv() (EnvironmentCopy says why).
const char* variable(std::string_view name) noexcept;

/// The calling thread's mark in the ring, valid as long as the thread and never in a forked child; null
/// before the thread's first record.
raw::ThreadMark* threadMark() noexcept;

/// Work on a device failed in a way that its context does not survive: the driver is asked for nothing more.
bool deviceFailed() noexcept;
/// Captures now open in this process. Launch callbacks are evidence while it is not 0.
std::uint32_t openCaptures() noexcept;
/// What happens from now on is not seen: an open capture may end, so it must not look as if it never did.
/// Open calls are forgotten, too.
void forgetOpenCaptures() noexcept;
/// A communicator was created in this process.
bool commSeen() noexcept;
/// Why device activity is absent in a stretch that measures the overhead.
inline constexpr char kPausedForOverhead[]
    = "left out for some moments to measure what recording costs (--measure-overhead=off records them)";
/// The level in force, or the one that holds again when a stretch that measures the overhead is over.
raw::RecordingLevel levelWithoutPause() noexcept;
/// The open capture that `stream` is a member of, 0 = none.
std::uint64_t captureOf(std::uint64_t stream) noexcept;

/// A followed call was entered and left by this thread. The pair is matched by `api` and nesting; calls may
/// nest (a runtime call inside another). The exit's struct is the complete one.
void apiEnter(const gd_rt_api& call) noexcept;
void apiExit(const gd_rt_api& call, std::int32_t result) noexcept;

void device(const gd_rt_device& device) noexcept;
/// What CUDA knows about a device and the runtime table does not say.
struct DeviceExtra {
    const char* uuid = nullptr;
    std::uint16_t ccMajor = 0;
    std::uint16_t ccMinor = 0;
    std::uint32_t multiprocessors = 0;
};
void device(const gd_rt_device& device, const DeviceExtra& extra) noexcept;

void context(gd_rt_life life, const gd_rt_object& object) noexcept;
void stream(gd_rt_life life, const gd_rt_object& object) noexcept;
void event(gd_rt_life life, const gd_rt_object& object) noexcept;

void graph(gd_rt_life life, const gd_rt_graph& graph) noexcept;
/// `inExec`: node.graph is an exec id. The runtime table does not say so: ids of execs reported before are
/// known.
void node(gd_rt_life life, const gd_rt_node& node, bool inExec = false) noexcept;
void edge(const gd_rt_edge& edge) noexcept;
/// Start and end of the instantiate or update are those of the call this thread is in. `traceable`:
/// GRAPH_TRACE may be on while the exec is launched.
void exec(gd_rt_life life, const gd_rt_exec& exec, bool traceable = true) noexcept;
/// Parameter words that lie in a live allocation at this moment become pointers, the rest scalars. A kernel
/// node whose parameters cannot be read: `param_count` > 0 and `param_data` NULL.
void nodeParams(const gd_rt_node_params& params) noexcept;
/// A kernel was launched outside graphs, with these parameters (type and node are not looked at).
void eagerLaunch(const gd_rt_node_params& params, std::uint64_t stream) noexcept;

/// What a hook of a framework tells and asks (see the runtime table).
void frameworkBlock(const gd_rt_block& block) noexcept;
void frameworkCoverage(raw::CoverageState state, std::int64_t fromNs, std::string_view reason) noexcept;
gd_rt_status frameworkStatus() noexcept;

void alloc(const gd_rt_memory& memory) noexcept;
void free(const gd_rt_memory& memory) noexcept;

/// A memory pool; the sizes that `known` (raw::KnownSize) names.
struct PoolState {
    std::uint64_t pool = 0; ///< id
    std::uint32_t device = 0;
    std::uint32_t known = 0;
    std::uint64_t reservedBytes = 0;
    std::uint64_t usedBytes = 0;
};
void memoryPool(gd_rt_life life, const PoolState& pool) noexcept;

/// A look at a device's memory.
struct DeviceMemory {
    std::uint32_t device = 0;
    bool knowsGraphReserved = false;
    std::uint64_t freeBytes = 0;
    std::uint64_t totalBytes = 0;
    std::uint64_t graphReservedBytes = 0;
};
void memorySample(const DeviceMemory& memory) noexcept;

/// What activity records of CUPTI hold beyond the runtime table's.
struct ActivityExtra {
    std::uint32_t registers = 0;
    std::uint32_t staticSharedBytes = 0;
    std::uint32_t value = 0; ///< fills
    std::uint16_t srcKind = 0; ///< gd_rt_memory_kind
    std::uint16_t dstKind = 0;
    std::uint16_t syncApi = 0; ///< gd_api_id of a synchronisation
    bool isComm = false; ///< the kernel is a collective's
    std::uint64_t event = 0;
};
void activity(const gd_rt_activity& activity) noexcept;
void activity(const gd_rt_activity& activity, const ActivityExtra& extra) noexcept;

void comm(gd_rt_life life, const gd_rt_comm& comm, raw::CommSource source) noexcept;
/// `group`: the thread's outermost group end this call belongs to, 0 = none. `op.dtype` may be
/// raw::kByteDtype.
void commOp(const gd_rt_comm_op& op, raw::CommSource source, std::uint64_t group = 0) noexcept;

/// From now on: the first stream whose capture state a call of this thread asks for, or which it gives work.
void followStream() noexcept;
/// That stream, 0 = none so far; ends the watch.
std::uint64_t followedStream() noexcept;
/// The stream whose capture state this thread asked for last, 0 = none.
std::uint64_t askedStream() noexcept;

void range(const gd_rt_range& range) noexcept;
void range(const gd_rt_range& range, std::uint32_t color) noexcept;

/// Facts about the record itself. Strings are copied.
void coverage(raw::CoverageSource source, raw::CoverageState state, std::string_view reason) noexcept;
void issue(raw::IssueSeverity severity, std::string_view code, std::string_view detail) noexcept;
/// A named fact (keys: raw::ProcessFact).
void fact(std::string_view key, std::string_view value) noexcept;
/// `count` records of `source` were lost by somebody else (CUPTI's own buffers).
void lost(raw::CoverageSource source, std::uint64_t count) noexcept;
void counter(std::string_view name, double value, std::uint32_t device) noexcept;

} // namespace gd::session::sink
