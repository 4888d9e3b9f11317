// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/activity_records.h"
#include "collector/cupti/graph_trace_policy.h"
#include "collector/cupti/replay_streams.h"
#include "collector/session/hooks.h"
#include "collector/session/spin_lock.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace gd::cupti {

/// CUPTI's activity side: switches kinds on and off as GraphTracePolicy says, owns the buffers, and flushes
/// them every 500 ms, because CUPTI returns full buffers only (measured: its own flush period delivered 0 of
/// 2,500 graph records in 3 s). The buffers grow from 256 KiB to 4 MiB with the rate.
///
/// Threads: any. Switching happens on the thread whose call asks for it, inside that driver call's callback;
/// records arrive on CUPTI's thread or on the collector's own during a flush.
class Activity {
public:
    static Activity& instance() noexcept;

    /// Sets what must be set before a context exists, best before subscribing. `nodeByNode`: the run's
    /// level is full.
    void prepare(bool nodeByNode) noexcept;
    /// Registers buffers and clock; before any kind is enabled. False, with an issue, when this CUPTI cannot
    /// be read.
    bool start() noexcept;
    /// Between start() and the process's first call but cuInit(), on the thread that is inside that: switches
    /// kinds on at the one moment at which no other call can be under way. (Later the collector's own thread
    /// would do it while the job's threads make their first context, or launch their first graph: a launch
    /// whose begin CUPTI has not noted and whose end it has is a crash.) Writes no coverage: setLevel() does,
    /// when the session is open.
    void begin(raw::RecordingLevel level) noexcept;
    void setLevel(raw::RecordingLevel level) noexcept;
    /// Why a level between off and the current one would switch nothing, or not safely.
    session::SwitchBar switchBar() noexcept;
    /// Switches everything off, delivers what is there and leaves CUPTI's buffers to another profiler.
    void pause() noexcept;
    /// After pause(), before setLevel(): takes buffers and clock back.
    void resume() noexcept;

    void instantiateBegan() noexcept;
    /// Inside an instantiate. Returns whether the executable may be launched with GRAPH_TRACE on.
    bool execCreated(GraphTracePolicy::Contents contents) noexcept;
    void instantiateEnded() noexcept;
    void execDestroyed(bool traceable, bool pins, bool launched) noexcept;
    /// Executables may have been made unseen.
    void unknownExec() noexcept;
    /// At enter of a graph's launch, at every level.
    void launching(ThreadCalls& calls, const CallArguments& arguments, CUcontext context) noexcept;
    /// At its exit, at every level. `first`: of its executable.
    void launchEnded(ThreadCalls& calls, bool first) noexcept;
    /// Some executable has not been launched yet.
    bool awaitsFirstLaunch() const noexcept { return m_unlaunched.load(std::memory_order_relaxed) > 0; }
    /// At the exit of any followed call, after launchEnded(): the moment may have come at which a kind can be
    /// switched on. `launch`: of a graph.
    void callEnded(bool launch, CUcontext current) noexcept;
    /// At its exit, while recording.
    void launched() noexcept;
    ReplayStreams& replayStreams() noexcept { return m_streams; }

    /// A context was seen for the first time. (CUPTI's numbers are above 0.)
    void contextSeen(CUcontext context, std::uint64_t id) noexcept;
    /// Asks for the number of a context's legacy stream, on a thread where the context is current and so
    /// alive.
    /// False: CUPTI does not tell, perhaps not yet.
    bool learnLegacyStream(CUcontext context, std::uint64_t id) noexcept;
    void tick(std::int64_t nowNs) noexcept;
    /// Fetches what is complete. Not before the process's first launch of a graph, and not between an
    /// instantiate and the first launch of its executable: with kernel records on, graphs launched after such
    /// a flush have faulted on the device (CUDA_ERROR_LAUNCH_FAILED; measured with XLA's,
    /// docs/measurements.md). Until then CUPTI delivers buffers that are full.
    void flush() noexcept;
    /// Flushes until several flushes bring nothing new: CUPTI goes on working at what a device has just
    /// finished. At most `ns`.
    void flushAll(std::int64_t ns) noexcept;
    /// The process ends: no kind is switched any more, by no thread. Waits at most `ns` for a switch under
    /// way.
    void end(std::int64_t ns) noexcept;

private:
    static constexpr unsigned kMaxContexts = 64;
    static constexpr std::uint32_t kSmallBufferBytes = 256 * 1024;
    static constexpr std::uint32_t kLargeBufferBytes = 4 * 1024 * 1024;
    // A kind is switched when no replay is under way. Most jobs have such a moment of their own, at the end
    // of a synchronising call; for one that has none in so many launches, the launching thread waits until
    // the device has run dry: so long at most, so long in the process's life, and for a fiftieth of the time
    // at most. (A stream may wait for that very thread.)
    static constexpr std::uint32_t kPatientLaunches = 8;
    static constexpr std::int64_t kLongestWaitNs = 1'000'000'000;
    static constexpr std::int64_t kWaitInAllNs = 3'000'000'000;
    static constexpr std::int64_t kNoWaitFactor = 50; ///< times a wait's own time until the next
    static constexpr std::int64_t kPollNs = 20'000;
    // So long after the latest instantiate nobody waits any more for the first launch of an executable: some
    // are never launched.
    static constexpr std::int64_t kHoldFlushNs = 30'000'000'000;
    // After so many calls without one it looks at the end of every 16th only.
    static constexpr std::uint32_t kEagerLooks = 256;
    struct ContextName {
        std::atomic<std::uint64_t> id{0};
        std::atomic<std::uint32_t> cuptiId{0}; ///< 0 = not in use
        std::atomic<std::uint32_t> legacyStream{
            0}; ///< CUPTI's number of the legacy default stream, 0 = not known yet
    };

    static void CUPTIAPI bufferRequested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* maxRecords);
    static void CUPTIAPI bufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
        std::size_t bytes, std::size_t validBytes);
    static std::uint64_t streamName(std::uint32_t cuptiContext, std::uint32_t cuptiStream) noexcept;

    bool registerCallbacks() noexcept;
    void apply() noexcept; ///< m_mutex held
    bool lookForIdle(CUcontext current) noexcept;
    bool enable(CUpti_ActivityKind kind, bool on) noexcept;
    void noteSwitches(const GraphTracePolicy::Wanted& wanted) noexcept;
    void watchNodeRecords() noexcept; ///< m_mutex held
    void reportCoverage(const GraphTracePolicy::Wanted& wanted) noexcept;
    void deliver() noexcept;
    bool holdsFlush(std::int64_t nowNs) const noexcept;
    void chooseBufferSize(std::size_t bytes, std::size_t validBytes) noexcept;

    std::mutex m_mutex;
    session::SpinLock m_offLock; ///< of the two below; never held around a CUPTI call
    OffIntervals m_kernelsOff;
    OffIntervals m_graphsOff;
    GraphTracePolicy m_policy;
    GraphTracePolicy::Wanted m_on;
    std::atomic<bool> m_started{false};
    std::atomic<bool> m_ended{false};
    std::atomic<std::uint64_t> m_bytesSeen{0}; ///< of records, in all
    std::atomic<bool> m_windowOpen{false}; ///< launches are counted
    ReplayStreams m_streams;
    std::atomic<bool> m_noReplay{true}; ///< none since the start or the last idle moment
    std::atomic<bool> m_switchWaits{false}; ///< and must not fall into the enter of a launch
    std::atomic<bool> m_seeksIdle{false};
    std::atomic<std::uint32_t> m_seekingLaunches{0};
    std::atomic<std::uint32_t> m_looks{0};
    std::atomic<std::int64_t> m_nextWaitNs{0};
    std::atomic<std::int64_t> m_waitLeftNs{kWaitInAllNs};
    std::atomic<bool> m_saidBlocked{false};
    std::atomic<bool> m_keepSyncs{false};
    bool m_isTold = false; ///< of a level, by setLevel()
    bool m_kernelsRefused = false;
    bool m_copiesBetweenRefused = false;
    bool m_syncRefused = false;
    RecordLayout m_layout = RecordLayout::Unknown;
    raw::RecordingLevel m_appliedLevel = raw::RecordingLevel::Off;
    bool m_wasPinned = false;
    bool m_saidStaysOn = false;
    std::int64_t m_lastFlushNs = 0;
    std::uint64_t m_mostNodeRecords = 0; ///< that may be asked for
    std::atomic<bool> m_keepsNodes{false}; ///< CUPTI keeps the memory of records of nodes
    std::atomic<std::uint64_t> m_nodeRecords{0}; ///< since then
    EagerKernelMemory m_eagerMemory;
    std::atomic<bool> m_graphLaunched{false};
    std::atomic<std::int32_t> m_unlaunched{0}; ///< executables that are alive, of all threads
    std::atomic<std::int32_t> m_instantiating{0};
    std::atomic<std::int64_t> m_instantiateNs{0}; ///< when the latest began or ended
    std::atomic<std::uint32_t> m_bufferBytes;
    std::atomic<std::int64_t> m_lastFullNs{0}; ///< when a buffer came back full
    ContextName m_contexts[kMaxContexts];
    std::atomic<unsigned> m_contextsSeen{0};
};

} // namespace gd::cupti
