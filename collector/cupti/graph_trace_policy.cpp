// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/graph_trace_policy.h"

namespace gd::cupti {

void GraphTracePolicy::instantiateBegan() {
    ++m_instantiating;
    m_unbracketed = m_unbracketed || !mayBracket();
}

bool GraphTracePolicy::mayBracket() const {
    return !m_plain && !m_unbracketed && !blocked() && !m_graphTraceRefused
        && (!m_isPinned || m_pinned.graphTrace);
}

void GraphTracePolicy::turnsOff() {
    m_unbracketed = m_instantiating > 0;
    m_pinned.graphTrace = false;
}

bool GraphTracePolicy::execCreated(Contents contents, std::int64_t nowNs) {
    if (contents.pins) {
        ++m_pinning;
        enter(Phase::Steady, nowNs);
    }
    if (m_instantiating == 0 || contents.liveAllocations || !mayBracket()) {
        ++m_untraceable;
        turnsOff();
        return false;
    }
    return true;
}

void GraphTracePolicy::instantiateEnded() {
    m_instantiating -= m_instantiating > 0 ? 1 : 0;
    m_unbracketed = m_unbracketed && m_instantiating > 0;
    if (m_pinning > 0 && !m_isPinned && m_instantiating == 0) {
        pin();
    }
}

void GraphTracePolicy::execDestroyed(bool traceable, bool pins) {
    if (!traceable && m_untraceable > 0) {
        --m_untraceable;
    }
    m_pinning -= pins && m_pinning > 0 ? 1 : 0;
}

void GraphTracePolicy::unknownExecLaunched() {
    m_unknownExec = true;
    turnsOff();
}

void GraphTracePolicy::letGo() {
    unknownExecLaunched();
    m_isPinned = false;
    m_underWay = m_recordsDue = false; // it does not wait
    m_phase = Phase::Steady;
    m_level = m_pinAt = raw::RecordingLevel::Off;
}

// GRAPH_TRACE is on at this moment, at the end of an instantiate, and stays so below level light too: a
// window that opens later must have it.
void GraphTracePolicy::pin() {
    const raw::RecordingLevel now = m_level;
    m_level = m_pinAt > m_level ? m_pinAt : m_level;
    m_pinned = m_plain ? Wanted{false, true, true} // a window that opens later has nothing else
                       : Wanted{!atNodeLevel() && !blocked() && !m_graphTraceRefused, timesKernels(),
                           m_level >= raw::RecordingLevel::Standard};
    m_level = now;
    m_isPinned = true;
    m_freeSinceNs = 0;
}

void GraphTracePolicy::unpin(std::int64_t nowNs) {
    m_isPinned = false;
    const Wanted next = wanted();
    if (next.graphTrace && m_pinned.kernels != next.kernels) {
        enter(Phase::Quiet, nowNs);
    }
}

void GraphTracePolicy::launched(std::int64_t nowNs) {
    if (waits() || m_phase != Phase::Quiet) {
        return; // the phase has not begun yet, or there is nothing to count
    }
    if (--m_quietLeft == 0) {
        enter(Phase::Steady, nowNs);
    }
}

void GraphTracePolicy::tick(std::int64_t nowNs) {
    if (m_isPinned) {
        m_freeSinceNs = m_pinning > 0 ? 0 : m_freeSinceNs != 0 ? m_freeSinceNs : nowNs;
        if (m_freeSinceNs != 0 && nowNs - m_freeSinceNs > kPinnedOnNs) {
            unpin(nowNs);
        }
    }
    if (m_phase == Phase::Quiet && nowNs - m_phaseSinceNs >= kMaxPhaseNs) {
        enter(Phase::Steady, nowNs);
    }
}

void GraphTracePolicy::setLevel(raw::RecordingLevel level, std::int64_t nowNs, raw::RecordingLevel pinAt) {
    m_pinAt = pinAt;
    const bool graphsBefore = timesGraphs();
    const bool kernelsBefore = timesKernels();
    m_level = level;
    m_plain = m_plain && level != raw::RecordingLevel::Light && level != raw::RecordingLevel::Standard;
    const bool changed = graphsBefore != timesGraphs() || kernelsBefore != timesKernels();
    if ((graphsBefore || kernelsBefore) && changed && timesGraphs()) {
        enter(Phase::Quiet, nowNs);
    }
}

void GraphTracePolicy::nodeRecordsUsedUp() {
    if (usesUp()) {
        m_pinned.kernels = false;
    }
    m_nodesUsedUp = true;
}

bool GraphTracePolicy::atNodeLevel() const {
    return m_level == raw::RecordingLevel::Full && !m_nodesUsedUp;
}

bool GraphTracePolicy::usesUp() const {
    return m_level == raw::RecordingLevel::Full || blocked();
}

bool GraphTracePolicy::timesGraphs() const {
    return m_level >= raw::RecordingLevel::Light && m_level < raw::RecordingLevel::Full && !isQuiet();
}

bool GraphTracePolicy::timesKernels() const {
    return m_level >= raw::RecordingLevel::Standard && !isQuiet() && !(m_nodesUsedUp && usesUp());
}

GraphTracePolicy::Wanted GraphTracePolicy::asked() const {
    Wanted asked = m_isPinned
        ? m_pinned
        : Wanted{timesGraphs(), timesKernels(), m_level >= raw::RecordingLevel::Standard};
    asked.graphTrace = asked.graphTrace && !blocked() && !m_graphTraceRefused;
    return asked;
}

GraphTracePolicy::Wanted GraphTracePolicy::gated() const {
    Wanted gated = asked();
    if (m_underWay) {
        gated.graphTrace = m_tracing.graphTrace && !blocked() && !m_graphTraceRefused;
        gated.kernels = m_tracing.kernels && (gated.kernels || m_tracing.graphTrace);
    } else if (m_recordsDue) {
        gated.graphTrace = gated.graphTrace && m_tracing.graphTrace;
        gated.kernels = gated.kernels && m_tracing.kernels;
    }
    return gated;
}

void GraphTracePolicy::applied() {
    const Wanted now = gated();
    const bool wentOff = (m_tracing.graphTrace && !now.graphTrace) || (m_tracing.kernels && !now.kernels);
    if (wentOff && m_replayed) {
        m_recordsDue = true;
        m_recordsComplete = false;
    }
    m_tracing = now;
}

GraphTracePolicy::Wanted GraphTracePolicy::wanted() const {
    Wanted wanted = gated();
    // The bracket: an executable made while it is off could never be traced.
    wanted.graphTrace = wanted.graphTrace || (m_instantiating > 0 && mayBracket());
    return wanted;
}

void GraphTracePolicy::enter(Phase phase, std::int64_t nowNs) {
    m_phase = phase;
    m_phaseSinceNs = nowNs;
    if (phase == Phase::Quiet) {
        m_quietLeft = kQuietReplays;
    }
}

} // namespace gd::cupti
