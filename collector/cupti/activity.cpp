// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/activity.h"

#include "collector/cupti/cupti_api.h"
#include "collector/cupti/device_buffers.h"
#include "collector/cupti/objects.h"
#include "collector/cupti/refusal.h"
#include "collector/cupti/thread_calls.h"
#include "collector/raw/records_api.h"
#include "collector/session/sink.h"

#include <time.h>

#include <new>

namespace gd::cupti {

namespace {

namespace sink = session::sink;

constexpr std::int64_t kFlushPeriodNs = 500'000'000;
constexpr raw::CoverageSource kSources[]
    = {raw::CoverageSource::graph_trace, raw::CoverageSource::node_activity,
        raw::CoverageSource::eager_kernel_activity, raw::CoverageSource::sync};

std::uint64_t clockNs() {
    return static_cast<std::uint64_t>(sink::nowNs());
}

} // namespace

Activity& Activity::instance() noexcept {
    // Never destroyed: buffers may come back while the process ends.
    alignas(Activity) static unsigned char place[sizeof(Activity)];
    static Activity* const activity = new (place) Activity;
    return *activity;
}

void Activity::prepare(bool nodeByNode) noexcept {
    m_mostNodeRecords = setDeviceBuffers();
    if (nodeByNode) {
        const std::lock_guard lock(m_mutex);
        m_policy.startsNodeByNode();
    }
}

bool Activity::start() noexcept {
    const CuptiApi& api = cuptiApi();
    std::uint32_t version = 0;
    if (api.getVersion == nullptr || api.getVersion(&version) != CUPTI_SUCCESS) {
        version = 0;
    }
    m_layout = layoutOf(version);
    const bool complete = api.activityEnable != nullptr && api.activityDisable != nullptr
        && api.activityRegisterCallbacks != nullptr && api.activityGetNextRecord != nullptr
        && api.activityFlushAll != nullptr && api.activityRegisterTimestampCallback != nullptr;
    m_bufferBytes.store(kSmallBufferBytes, std::memory_order_relaxed);
    if (m_layout == RecordLayout::Unknown || !complete) {
        refused(Refusal::Version);
        return false;
    }
    return registerCallbacks();
}

bool Activity::registerCallbacks() noexcept {
    const CuptiApi& api = cuptiApi();
    if (api.activityRegisterTimestampCallback(clockNs) != CUPTI_SUCCESS
        || api.activityRegisterCallbacks(bufferRequested, bufferCompleted) != CUPTI_SUCCESS) {
        refused(Refusal::Buffers);
        return false;
    }
    m_started.store(true, std::memory_order_release);
    return true;
}

void Activity::pause() noexcept {
    if (!m_started.exchange(false, std::memory_order_acq_rel)) {
        return;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_policy.letGo();
        m_saidBlocked.store(true); // there is a better reason to name
        apply();
        reportCoverage(m_policy.wanted());
    }
    cuptiApi().activityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); // also buffers that are not full
}

void Activity::resume() noexcept {
    if (m_layout != RecordLayout::Unknown) {
        registerCallbacks();
    }
}

void Activity::begin(raw::RecordingLevel level) noexcept {
    if (m_started.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex);
        m_policy.setLevel(level, sink::nowNs());
        apply();
    }
}

void Activity::setLevel(raw::RecordingLevel level) noexcept {
    if (!m_started.load(std::memory_order_acquire)) {
        for (const auto source : kSources) {
            sink::coverage(source, raw::CoverageState::Absent, "CUPTI delivers no activity that can be read");
        }
        return;
    }
    const std::lock_guard lock(m_mutex);
    m_isTold = true;
    m_policy.setLevel(level, sink::nowNs(), sink::levelWithoutPause());
    apply();
    reportCoverage(m_policy.wanted());
}

session::SwitchBar Activity::switchBar() noexcept {
    if (!m_started.load(std::memory_order_acquire)) {
        return {"no device activity comes from CUPTI", false}; // another profiler may give it back
    }
    const std::lock_guard lock(m_mutex);
    if (m_policy.isPinned()) {
        return {"no kind of activity is switched beside executables with host nodes or made beside "
                "communicators",
            false};
    }
    if (m_policy.blocked() && !m_policy.makesPlain()) {
        return {
            "graph-level tracing stays off while an executable is alive that could crash under it", false};
    }
    return {};
}

void Activity::instantiateBegan() noexcept {
    m_instantiateNs.store(sink::nowNs(), std::memory_order_relaxed);
    m_instantiating.fetch_add(1, std::memory_order_release);
    if (m_started.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex);
        m_policy.instantiateBegan();
        apply();
    }
}

bool Activity::execCreated(GraphTracePolicy::Contents contents) noexcept {
    m_unlaunched.fetch_add(1, std::memory_order_release);
    if (!m_started.load(std::memory_order_acquire)) {
        return !contents.liveAllocations; // nothing is ever switched on in this process
    }
    const std::lock_guard lock(m_mutex);
    const bool traceable = m_policy.execCreated(contents, sink::nowNs()); // applied when the call returns
    m_keepsNodes.store(
        m_keepsNodes.load(std::memory_order_relaxed) || m_on.graphTrace, std::memory_order_relaxed);
    return traceable;
}

void Activity::instantiateEnded() noexcept {
    m_instantiateNs.store(sink::nowNs(), std::memory_order_relaxed);
    m_instantiating.fetch_sub(1, std::memory_order_release);
    if (m_started.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex);
        m_policy.instantiateEnded();
        apply();
    }
}

void Activity::execDestroyed(bool traceable, bool pins, bool launched) noexcept {
    m_unlaunched.fetch_sub(launched ? 0 : 1, std::memory_order_relaxed);
    if (m_started.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex);
        m_policy.execDestroyed(traceable, pins);
        apply();
    }
}

void Activity::unknownExec() noexcept {
    if (m_started.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex);
        m_policy.unknownExecLaunched();
        apply();
    }
}

void Activity::launched() noexcept {
    if (m_windowOpen.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(m_mutex);
        const std::int64_t nowNs = sink::nowNs();
        m_policy.launched(nowNs);
        apply();
    }
}

void Activity::contextSeen(CUcontext context, std::uint64_t id) noexcept {
    std::uint32_t cuptiId = 0;
    if (!m_started.load(std::memory_order_acquire)) {
        return;
    }
    if (cuptiApi().getContextId == nullptr || cuptiApi().getContextId(context, &cuptiId) != CUPTI_SUCCESS) {
        refused(Refusal::Streams);
        return;
    }
    const std::lock_guard lock(m_mutex);
    const unsigned seen = m_contextsSeen.load(std::memory_order_relaxed);
    ContextName& name = m_contexts[seen % kMaxContexts]; // a job that makes thousands keeps the last ones
    name.cuptiId.store(0, std::memory_order_relaxed);
    name.id.store(id, std::memory_order_relaxed);
    name.legacyStream.store(0, std::memory_order_relaxed);
    name.cuptiId.store(cuptiId, std::memory_order_release);
    m_contextsSeen.store(seen + 1, std::memory_order_release);
}

bool Activity::learnLegacyStream(CUcontext context, std::uint64_t id) noexcept {
    if (!m_started.load(std::memory_order_acquire) || cuptiApi().getStreamIdEx == nullptr) {
        return false;
    }
    std::uint32_t number = 0;
    if (cuptiApi().getStreamIdEx(context, nullptr, 0, &number) != CUPTI_SUCCESS || number == 0) {
        return false;
    }
    for (ContextName& name : m_contexts) {
        if (name.id.load(std::memory_order_relaxed) == id) {
            name.legacyStream.store(number, std::memory_order_relaxed);
        }
    }
    return true;
}

std::uint64_t Activity::streamName(std::uint32_t cuptiContext, std::uint32_t cuptiStream) noexcept {
    for (const ContextName& name : instance().m_contexts) {
        if (name.cuptiId.load(std::memory_order_acquire) == cuptiContext && cuptiContext != 0) {
            return cuptiStream == name.legacyStream.load(std::memory_order_relaxed)
                ? raw::kLegacyStream
                : Objects::streamNumber(name.id.load(std::memory_order_relaxed), cuptiStream);
        }
    }
    return Objects::streamNumber(0, cuptiStream);
}

void Activity::tick(std::int64_t nowNs) noexcept {
    if (!m_started.load(std::memory_order_acquire)) {
        return;
    }
    bool delivers = false;
    {
        const std::lock_guard lock(m_mutex);
        m_policy.tick(nowNs);
        watchNodeRecords();
        apply();
        delivers = m_policy.wantsFlush() && !holdsFlush(nowNs);
    }
    if (delivers) { // of launches before
        m_lastFlushNs = nowNs;
        deliver();
    } else if (nowNs - m_lastFlushNs >= kFlushPeriodNs) {
        m_lastFlushNs = nowNs;
        if (!holdsFlush(nowNs)) {
            deliver();
        }
    }
    if (delivers) {
        const std::lock_guard lock(m_mutex);
        if (m_policy.wantsFlush()) { // nothing went off meanwhile
            m_policy.flushed();
            m_noReplay.store(false, std::memory_order_relaxed);
            apply();
        }
    }
}

void Activity::launchEnded(ThreadCalls& calls, bool first) noexcept {
    m_streams.launchEnded(calls);
    if (first) {
        m_unlaunched.fetch_sub(1, std::memory_order_relaxed);
    }
    if (!m_graphLaunched.load(std::memory_order_relaxed)) {
        m_graphLaunched.store(true, std::memory_order_relaxed);
    }
}

bool Activity::holdsFlush(std::int64_t nowNs) const noexcept {
    if (!m_graphLaunched.load(std::memory_order_relaxed)) {
        return true;
    }
    const bool waits = m_instantiating.load(std::memory_order_acquire) > 0
        || m_unlaunched.load(std::memory_order_acquire) > 0;
    return waits && nowNs - m_instantiateNs.load(std::memory_order_relaxed) < kHoldFlushNs;
}

void Activity::flush() noexcept {
    if (!holdsFlush(sink::nowNs())) {
        deliver();
    }
}

void Activity::deliver() noexcept {
    if (m_started.load(std::memory_order_acquire)) {
        if (cuptiApi().activityFlushAll(0) != CUPTI_SUCCESS) {
            refused(Refusal::Flush);
        }
    }
}

void Activity::flushAll(std::int64_t ns) noexcept {
    constexpr unsigned kQuietFlushes = 3; // one alone has brought nothing though records were to come
    constexpr timespec kPause{0, 2'000'000};
    const std::int64_t until = sink::nowNs() + ns;
    for (unsigned quiet = 0; quiet < kQuietFlushes && sink::nowNs() < until;) {
        const std::uint64_t seen = m_bytesSeen.load(std::memory_order_relaxed);
        deliver();
        if (m_bytesSeen.load(std::memory_order_relaxed) != seen) {
            quiet = 0;
        } else if (++quiet < kQuietFlushes) {
            nanosleep(&kPause, nullptr);
        }
    }
}

void Activity::watchNodeRecords() noexcept {
    if (m_policy.nodesUsedUp() || m_nodeRecords.load(std::memory_order_relaxed) < m_mostNodeRecords) {
        return;
    }
    m_policy.nodeRecordsUsedUp();
    sink::issue(raw::IssueSeverity::DataLoss, "node_records_used_up",
        "CUPTI keeps the memory of each record of a replay's nodes of an executable made before level "
        "full; what it may take is used up, so replays have launch times only from here on");
}

bool Activity::enable(CUpti_ActivityKind kind, bool on) noexcept {
    const CUptiResult result = on ? cuptiApi().activityEnable(kind) : cuptiApi().activityDisable(kind);
    if (result != CUPTI_SUCCESS) {
        refused(on ? Refusal::KindOn : Refusal::KindOff);
    }
    return result == CUPTI_SUCCESS;
}

// Below their levels records may still come (see GraphTracePolicy): they are left out like those of a kind
// that is off.
void Activity::noteSwitches(const GraphTracePolicy::Wanted& wanted) noexcept {
    const bool keepGraphs = wanted.graphTrace && m_policy.level() >= raw::RecordingLevel::Light;
    const bool keepKernels = wanted.kernels && m_policy.level() >= raw::RecordingLevel::Standard;
    m_keepSyncs.store(m_policy.level() >= raw::RecordingLevel::Standard, std::memory_order_relaxed);
    const session::SpinGuard guard(m_offLock);
    const std::int64_t nowNs = sink::nowNs();
    keepKernels ? m_kernelsOff.switchedOn(nowNs) : m_kernelsOff.switchedOff(nowNs);
    keepGraphs ? m_graphsOff.switchedOn(nowNs) : m_graphsOff.switchedOff(nowNs);
}

void Activity::apply() noexcept {
    if (m_ended.load(std::memory_order_acquire)) {
        return;
    }
    GraphTracePolicy::Wanted wanted = m_policy.wanted();
    m_policy.applied();
    const bool sought = m_policy.needsIdle();
    if (sought && !m_seeksIdle.load(std::memory_order_relaxed)) {
        m_seekingLaunches.store(0, std::memory_order_relaxed);
        m_looks.store(0, std::memory_order_relaxed);
    }
    m_seeksIdle.store(sought, std::memory_order_release);
    m_switchWaits.store(m_policy.waits(), std::memory_order_release);
    const bool changed
        = !(wanted == m_on) || m_policy.level() != m_appliedLevel || m_policy.isPinned() != m_wasPinned;
    if (changed) {
        m_appliedLevel = m_policy.level();
        m_wasPinned = m_policy.isPinned();
        noteSwitches(wanted);
    }
    if (wanted.graphTrace != m_on.graphTrace && !enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, wanted.graphTrace)
        && wanted.graphTrace) {
        // Executables made from now on are made while it is off: it must stay so for good.
        m_policy.graphTraceRefused();
        wanted = m_policy.wanted();
        m_policy.applied();
        noteSwitches(wanted);
    }
    if (wanted.kernels != m_on.kernels) {
        const bool kernels = enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, wanted.kernels);
        const bool copies = enable(CUPTI_ACTIVITY_KIND_MEMCPY, wanted.kernels);
        const bool fills = enable(CUPTI_ACTIVITY_KIND_MEMSET, wanted.kernels);
        const bool between = enable(CUPTI_ACTIVITY_KIND_MEMCPY2, wanted.kernels); // copies between devices
        m_copiesBetweenRefused = wanted.kernels && !between;
        m_kernelsRefused = wanted.kernels && !(kernels && copies && fills);
    }
    if (wanted.sync != m_on.sync) {
        m_syncRefused = !enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, wanted.sync) && wanted.sync;
    }
    m_on = wanted;
    if (m_policy.level() < raw::RecordingLevel::Light && m_policy.isPinned()
        && (m_on.graphTrace || m_on.kernels) && !m_saidStaysOn) {
        m_saidStaysOn = true;
        sink::fact(
            "activity_not_switched", "beside communicators and executables with host nodes it stays on");
    }
    m_windowOpen.store(m_policy.phase() != GraphTracePolicy::Phase::Steady, std::memory_order_relaxed);
    if (changed && m_isTold) {
        reportCoverage(wanted);
    }
    if (m_policy.blocked() && !m_policy.makesPlain() && !m_saidBlocked.exchange(true)) {
        sink::issue(raw::IssueSeverity::Info, "graph_trace_blocked",
            "graph-level tracing stays off while an executable is alive that could crash under it: its "
            "replays have "
            "launch times only");
    }
}

void Activity::reportCoverage(const GraphTracePolicy::Wanted& wanted) noexcept {
    using raw::CoverageSource;
    using raw::CoverageState;
    const raw::RecordingLevel level = m_policy.level();
    const bool usedUp = (level == raw::RecordingLevel::Full || m_policy.blocked()) && m_policy.nodesUsedUp();
    const bool pinned = m_policy.isPinned();
    const bool nodes = pinned ? wanted.kernels && !wanted.graphTrace : m_policy.atNodeLevel();
    const bool quiet = !nodes && m_policy.phase() == GraphTracePolicy::Phase::Quiet;
    const auto say = [](CoverageSource source, CoverageState state, const char* why) {
        sink::coverage(source, state, why);
    };
    if (level < raw::RecordingLevel::Light) {
        for (const auto source : kSources) {
            say(source, CoverageState::Absent,
                level == raw::RecordingLevel::History && level < sink::levelWithoutPause()
                    ? sink::kPausedForOverhead
                    : "activity is off");
        }
        return;
    }
    constexpr const char* kRefused = "CUPTI refused this kind of activity";
    constexpr const char* kUsedUp = "the memory that CUPTI may take for records of nodes is used up";
    const bool replaysTimed = wanted.graphTrace || (nodes && !m_kernelsRefused);
    say(CoverageSource::graph_trace, replaysTimed ? CoverageState::Complete : CoverageState::Partial,
        replaysTimed                         ? ""
            : usedUp                         ? kUsedUp
            : m_policy.isGraphTraceRefused() ? kRefused
            : quiet                          ? "a few replays without device times between two levels"
            : m_policy.waits()               ? "off until a moment without a replay under way"
                               : "an executable is alive that switching graph-level tracing on could crash");
    const bool eager = level >= raw::RecordingLevel::Standard;
    if (m_kernelsRefused) {
        say(CoverageSource::node_activity, CoverageState::Absent, kRefused);
        say(CoverageSource::eager_kernel_activity, CoverageState::Absent, kRefused);
    } else {
        const CoverageState most = m_copiesBetweenRefused ? CoverageState::Partial : CoverageState::Complete;
        const char* const lack = m_copiesBetweenRefused ? "CUPTI refused copies between devices" : "";
        say(CoverageSource::node_activity, nodes ? most : CoverageState::Absent,
            nodes                                   ? lack
                : level < raw::RecordingLevel::Full ? "replays are recorded node by node at level full only"
                : usedUp                            ? kUsedUp
                         : "not beside communicators and executables with host nodes");
        say(CoverageSource::eager_kernel_activity,
            wanted.kernels ? most
                : eager    ? CoverageState::Partial
                           : CoverageState::Absent,
            wanted.kernels ? lack
                : usedUp   ? kUsedUp
                : pinned   ? "not switched beside communicators and executables with host nodes"
                : eager && m_policy.waits() ? "off until a moment without a replay under way"
                : eager                     ? "off for a few replays between two levels"
                                            : "level light");
    }
    const bool syncs = wanted.sync && !m_syncRefused;
    say(CoverageSource::sync, syncs ? CoverageState::Complete : CoverageState::Absent,
        syncs               ? ""
            : m_syncRefused ? kRefused
                            : "level light");
}

} // namespace gd::cupti
