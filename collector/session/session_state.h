// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"
#include "collector/raw/records_coverage.h"
#include "collector/session/capture_machine.h"
#include "collector/session/environment_copy.h"
#include "collector/session/event_segments.h"
#include "collector/session/flat_map.h"
#include "collector/session/framework_note.h"
#include "collector/session/interner.h"
#include "collector/session/name_pattern.h"
#include "collector/session/pointer_map.h"
#include "collector/session/recording_window.h"
#include "collector/session/ring.h"
#include "collector/session/segment_writer.h"
#include "collector/session/thread_state.h"

#include <atomic>
#include <climits>
#include <cstdint>

namespace gd::session {

/// At most `perSecond` tokens a second; any thread, lock-free, a few too many at the turn of a second do no
/// harm.
class RateLimit {
public:
    explicit constexpr RateLimit(std::uint32_t perSecond) noexcept
        : m_perSecond(perSecond) { }
    bool take(std::int64_t nowNs) noexcept {
        const std::int64_t second = nowNs / 1'000'000'000;
        if (m_second.load(std::memory_order_relaxed) != second) {
            m_second.store(second, std::memory_order_relaxed);
            m_used.store(0, std::memory_order_relaxed);
        }
        return m_used.fetch_add(1, std::memory_order_relaxed) < m_perSecond;
    }

private:
    std::uint32_t m_perSecond;
    std::atomic<std::int64_t> m_second{-1};
    std::atomic<std::uint32_t> m_used{0};
};

/// Writes the capture machine's records to the history lane.
class CaptureHistory final : public CaptureRecords {
public:
    explicit CaptureHistory(Ring& ring) noexcept
        : m_ring(ring) { }
    void write(raw::CaptureBegin& record) noexcept override { m_ring.appendHistory(record); }
    void write(raw::CaptureJoin& record) noexcept override { m_ring.appendHistory(record); }
    void write(raw::CaptureFail& record) noexcept override { m_ring.appendHistory(record); }
    void write(raw::CaptureEnd& record) noexcept override { m_ring.appendHistory(record); }

private:
    Ring& m_ring;
};

/// What is remembered of a graph or an executable.
struct GraphNote {
    std::uint64_t capture; ///< it came from this capture
    std::uint32_t nodes;
    bool nodesChanged; ///< executable: a call gave one of its nodes new parameters
};

/// Where this process's record lies and who it is.
struct Identity {
    std::uint32_t pid = 0;
    std::uint64_t processKey = 0;
    std::uint64_t parentKey = 0; ///< forked child: the parent's
    std::int64_t startNs = 0;
    char host[65] = {};
    char spool[PATH_MAX] = {};
    char segmentPath[PATH_MAX] = {};
    char ringPath[PATH_MAX] = {};
    char ringNote[128] = {}; ///< why the ring is smaller or elsewhere than asked for
};

/// All state of one process's recording. Lives in mapped memory until the process ends; a forked child builds
/// a new one and never looks at the inherited one (its locks and ring belong to the parent).
struct SessionState {
    explicit SessionState(raw::StringRef firstString) noexcept
        : strings(ring, firstString) { }

    Identity identity;
    EnvironmentCopy environment; ///< for threads of ours, which may not ask getenv()
    Ring ring;
    SegmentWriter segment; ///< the history lane
    EventSegments events;
    Interner strings;
    CaptureHistory captureHistory{ring};

    SpinLock captureLock;
    CaptureMachine captures{captureHistory};
    std::atomic<std::uint32_t> openCaptures{0};
    std::atomic<bool> commSeen{false}; ///< a communicator was created
    std::atomic<std::uint32_t> offCount{0}; ///< how often calls went unseen from then on

    SpinLock memoryLock;
    PointerMap driverMemory;
    PointerMap frameworkMemory; ///< blocks inside driver allocations
    std::atomic<std::uint64_t> nextAllocation{1};

    std::atomic<std::uint64_t> frequentHistoryBytes{0}; ///< written by appendFrequent()
    std::atomic<std::uint32_t> saidNotFrequent{0}; ///< a bit for each coverage source it has spoken of

    SpinLock graphLock;
    FlatMap<GraphNote> graphs;
    FlatMap<GraphNote> execs;
    FlatMap<raw::ShapeRef> nodeShapes;

    NamePattern stepPattern;
    std::atomic<std::uint32_t> saidNamesLeftOut{0};
    std::atomic<std::uint64_t> stepsEnded{0}; ///< outermost step ranges of all threads
    std::atomic<std::uint32_t> openSteps{0}; ///< step ranges some thread is in

    FrameworkNote framework;

    RecordingWindow window;
    NamePattern windowPattern;
    std::atomic<std::uint64_t> windowRangesBegun{0}; ///< ranges of all threads that delimit the window
    std::atomic<std::uint64_t> windowRangesEnded{0};
    SpinLock windowStartsLock;
    FlatMap<std::uint8_t> windowStarts; ///< those among start and end ranges that are open, by id
    std::atomic<std::uint32_t> windowIsOpen{0};
    std::atomic<std::uint32_t> keeperWake{0}; ///< futex of the collector's own thread

    RateLimit allocationStacks{2000};
    RateLimit blockingStacks{200};
    RateLimit kernelNodeStacks{4000};
    RateLimit otherNodeStacks{2000};
    RateLimit queries{200};
    std::atomic<std::uint64_t> queriesLeftOut{0};
    std::atomic<std::uint64_t> stacksLeftOut{0};
    std::atomic<std::uint32_t> stickyErrors{0}; ///< calls that returned an error which stays
    std::atomic<std::uint8_t> stackSites[4096] = {}; ///< call sites that have had a stack

    std::atomic<ThreadState*> threads{nullptr};
    std::atomic<std::uint32_t> nextThread{1};
    std::atomic<std::uint32_t> nextMark{0};
    std::atomic<std::uint32_t> keeperTid{0}; ///< of the collector's own thread, 0 = it has not begun
    std::atomic<std::uint32_t> introduced{0}; ///< 1: modules and coverage known at the open are recorded
    std::atomic<std::uint32_t> greeted{0}; ///< 1: every source there was at the open knows level and window
    std::atomic<std::uint32_t> stopped{0}; ///< writing failed: nothing is collected any more
    std::atomic<std::uint32_t> flushWanted{0}; ///< ControlPage::flushRequest to follow, for the drainer
    std::atomic<const raw::ControlPage*> control{nullptr};
    raw::RecordingLevel wantedLevel = raw::RecordingLevel::Off; ///< inside the window, at the open
    raw::RecordingLevel firstLevel = raw::RecordingLevel::Off; ///< in force from the open on
    std::atomic<raw::RecordingLevel> levelWithoutPause{
        raw::RecordingLevel::Off}; ///< what holds again after a stretch that measures the overhead
    std::uint32_t firstGeneration = 0; ///< of the control page, read before the level
};

} // namespace gd::session
