// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"

#include <cstdint>

namespace gd::cupti {

/// Decides which kinds of CUPTI activity are on. Pure state, no CUPTI: the caller serialises the calls and
/// applies wanted() after each.
///
/// Why it is needed (measured on an H200, CUDA 13.0; contracts 1): an executable instantiated while
/// GRAPH_TRACE is off ends in SIGSEGV at its first launch with it on, and with it on a launch that fails
/// because the executable's allocation nodes are still live ends in SIGSEGV too. So GRAPH_TRACE is on around
/// every instantiate, whatever the level, and stays off while an executable is alive that could crash.
///
/// Node by node: CUPTI keeps memory for each record of the nodes of an executable that was instantiated with
/// GRAPH_TRACE on (measured, tests/e2e/probes/graph_records: 32 bytes of the device, until its pool is used
/// up and every record is silently missing, and 43 of the host); it keeps none for one that was made with it
/// off. So a run at level full makes its executables without, until a level is asked for that times graphs as
/// a whole. They count as executables that could crash: GRAPH_TRACE stays off while one is alive.
///
/// Nothing is switched at level standard by itself: both kinds are on from the start. An earlier version
/// recorded the first replays of each executable node by node (GRAPH_TRACE off for some replays, everything
/// off for some, both on again). In 4 of 541 runs of a trainer the job then ended in SIGSEGV inside libcupti,
/// in the first launch with GRAPH_TRACE on again of an executable that had been seen node by node:
/// the record of the launch is made of a begin and an end, and the end was missing (libcupti 13.0, 0x82ff2).
///
/// What is switched on request (a level, a pause to measure the overhead): going straight from node level to
/// GRAPH_TRACE keeps the node level's cost (377 us instead of 350 a replay), and switching kernel activity
/// off while GRAPH_TRACE stays on ended in SIGSEGV at the next launch. So everything is off for a few replays
/// wherever one of the two changes beside the other.
///
/// Pins: NCCL ranks ended, rarely (two of about thirty pairs, several at a time), in SIGSEGV inside libcupti
/// in the first launch after GRAPH_TRACE was switched on while a replay ran. Only with NCCL, whose graphs
/// hold host nodes; no client that switches by itself could be made to do it. So while an executable is alive
/// that holds host nodes or was made beside communicators nothing is switched any more, and what a level does
/// not ask for is left out of the trace.
///
/// Idle moments: such crashes came in 2 of 115 trainer runs that switched with replays under way, in 1 of 60
/// without and in 1 of 367 that also delivered the records first; and in 5 of 200 runs that changed the level
/// every 10 ms, in 1 of 300 without replays under way. So a switch waits until no replay is under way
/// (replayBegins(), idleSeen()), and what comes on waits besides until records of what went off have been
/// delivered (wantsFlush(), flushed()) and for another such moment; until then both stay as they are.
/// Excepted are: GRAPH_TRACE goes off at once for an executable that cannot be launched with it on, and is on
/// around an instantiate, a time into which no launch of that thread falls; kernel activity alone goes off at
/// once.
class GraphTracePolicy {
public:
    struct Wanted {
        bool graphTrace = false;
        bool kernels = false; ///< CONCURRENT_KERNEL, MEMCPY, MEMCPY2, MEMSET
        bool sync = false;
        bool operator==(const Wanted&) const = default;
    };
    enum class Phase : std::uint8_t { Steady, Quiet };
    /// What an executable holds that matters here.
    struct Contents {
        bool liveAllocations = false; ///< allocation nodes that a launch does not free
        bool pins = false; ///< nothing is switched while it lives
    };

    static constexpr unsigned kQuietReplays = 3;
    static constexpr std::int64_t kPinnedOnNs
        = 2'000'000'000; ///< after the last executable that pins: a replay may still run
    static constexpr std::int64_t kMaxPhaseNs = 5'000'000'000; ///< a job that launches nothing ends the wait

    /// `pinAt`: the level that an executable which pins meanwhile is to find (another one than `level` while
    /// the overhead is being measured).
    void setLevel(raw::RecordingLevel level, std::int64_t nowNs, raw::RecordingLevel pinAt);
    void setLevel(raw::RecordingLevel level, std::int64_t nowNs) { setLevel(level, nowNs, level); }

    /// The run's level is full. Before the first executable.
    void startsNodeByNode() { m_plain = true; }
    /// Executables are made without GRAPH_TRACE.
    bool makesPlain() const { return m_plain; }

    void instantiateBegan();
    /// Between began and ended. Returns whether the executable may be launched with GRAPH_TRACE on: not when
    /// it holds allocation nodes that are not freed by a launch, not when GRAPH_TRACE was off at any moment
    /// while it was made, and not when it was made by a call that no callback announced.
    bool execCreated(Contents contents, std::int64_t nowNs);
    void instantiateEnded();
    void execDestroyed(bool traceable, bool pins);
    /// An executable that no callback announced is about to be launched: it may have been made before anybody
    /// listened.
    void unknownExecLaunched();
    /// Another profiler takes CUPTI over: everything off, also what is pinned. Executables made unseen from
    /// now on could crash under GRAPH_TRACE, so it stays off for good.
    void letGo();
    /// At enter of a launch, unless one has been under way since the last idleSeen().
    void replayBegins() { m_underWay = m_replayed = true; }
    /// Nothing that was launched is under way any more.
    void idleSeen() {
        m_underWay = false;
        m_recordsComplete = m_recordsDue;
    }
    /// A switch waits.
    bool waits() const { return !(gated() == asked()); }
    /// It waits for a moment without a replay under way.
    bool needsIdle() const { return waits() && !m_recordsComplete; }
    /// It waits for the delivery of all records that are complete.
    bool wantsFlush() const { return waits() && m_recordsComplete; }
    /// That was done, and began when wantsFlush() was true.
    void flushed() {
        m_recordsDue = m_recordsDue && !m_recordsComplete;
        m_recordsComplete = false;
        m_underWay = true; // perhaps, again
    }
    /// wanted() was put into effect.
    void applied();
    /// CUPTI refused to switch it on: it stays off for good.
    void graphTraceRefused() {
        m_graphTraceRefused = true;
        turnsOff();
    }
    bool isGraphTraceRefused() const { return m_graphTraceRefused; }
    /// A launch returned.
    void launched(std::int64_t nowNs);
    void tick(std::int64_t nowNs);
    /// So many records of nodes may be asked for of executables made with GRAPH_TRACE on: where replays are
    /// recorded node by node, no device times come any more. (To go over to whole replays would be a switch
    /// that nobody asked for.)
    void nodeRecordsUsedUp();
    bool nodesUsedUp() const { return m_nodesUsedUp; }

    Wanted wanted() const;
    /// GRAPH_TRACE is kept off because of an executable that is alive.
    bool blocked() const { return m_untraceable > 0 || m_unknownExec; }
    Phase phase() const { return m_phase; }
    /// Replays are seen node by node now (or would be but for a pin).
    bool atNodeLevel() const;
    bool isPinned() const { return m_isPinned; }
    raw::RecordingLevel level() const { return m_level; }

private:
    Wanted asked() const; ///< by level, phase and pins
    Wanted gated() const; ///< of that, what may be on now
    void enter(Phase phase, std::int64_t nowNs);
    bool mayBracket() const; ///< GRAPH_TRACE may be on around an instantiate
    void turnsOff(); ///< it goes off, perhaps within an instantiate
    bool usesUp() const; ///< records of nodes come
    bool isQuiet() const { return m_phase == Phase::Quiet && !atNodeLevel(); }
    bool timesGraphs() const;
    bool timesKernels() const;
    void pin();
    void unpin(std::int64_t nowNs);

    raw::RecordingLevel m_level = raw::RecordingLevel::Off;
    raw::RecordingLevel m_pinAt = raw::RecordingLevel::Off;
    Phase m_phase = Phase::Steady;
    bool m_plain = false;
    unsigned m_instantiating = 0;
    bool m_unbracketed = false; ///< GRAPH_TRACE was off at a moment of an instantiate under way
    unsigned m_untraceable = 0;
    bool m_unknownExec = false;
    bool m_nodesUsedUp = false;
    unsigned m_pinning = 0; ///< executables alive that pin
    bool m_isPinned = false; ///< m_pinned is what is on, whatever is wanted
    Wanted m_pinned;
    std::int64_t m_freeSinceNs = 0; ///< pinned without such an executable, 0 = not so
    bool m_graphTraceRefused = false;
    Wanted m_tracing; ///< in effect, but for what is on around an instantiate
    bool m_underWay = false;
    bool m_replayed = false; ///< a graph was launched
    bool m_recordsDue = false; ///< of a kind that went off
    bool m_recordsComplete = false; ///< those are, and not delivered yet
    unsigned m_quietLeft = 0;
    std::int64_t m_phaseSinceNs = 0;
};

} // namespace gd::cupti
