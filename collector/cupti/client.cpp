// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/client.h"

#include "collector/cupti/activity.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/driver_api.h"
#include "collector/cupti/refusal.h"
#include "collector/session/open_spool.h"
#include "collector/session/sink.h"
#include "collector/session/system.h"
#include "collector/stacks/leading_frames.h"

#include <cerrno>
#include <new>

namespace gd::cupti {

namespace {

thread_local ThreadCalls t_calls;

constexpr CUpti_CallbackIdResource kResources[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_STREAM_CREATED,
    CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPH_CREATED,
    CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPH_CLONED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED,
};

void say(const char* what, const std::string& why) {
    session::complain("CUDA calls are not recorded: " + why);
    session::sink::issue(raw::IssueSeverity::Error, what, why);
    reportCoverage(false, why.c_str());
}

int driverMajor() {
    int version = 0;
    return driverApi().driverGetVersion(&version) == CUDA_SUCCESS ? version / 1000 : 0;
}

} // namespace

ThreadCalls& ThreadCalls::current() noexcept {
    return t_calls;
}

Client& Client::instance() noexcept {
    // Never destroyed: callbacks may come while the process ends.
    alignas(Client) static unsigned char place[sizeof(Client)];
    static Client* const client = new (place) Client;
    return *client;
}

bool Client::start() noexcept {
    const InsideGuard guard(ThreadCalls::current());
    try {
        if (!loadDriverApi()) {
            say("no_driver", "libcuda.so.1 is not loaded in this process");
            return false;
        }
        const int runtime = loadedRuntimeMajor();
        std::string why;
        if (!loadCuptiApi(runtime != 0 ? runtime : driverMajor(), why)) {
            say("no_cupti", why);
            return false;
        }
    } catch (...) {
        return false; // no memory
    }
    Activity::instance().prepare(session::levelOfRun() == raw::RecordingLevel::Full);
    stacks::hideLeadingFramesOf(reinterpret_cast<const void*>(cuptiApi().enableCallback));
    if (!subscribe()) {
        return false;
    }
    Activity::instance().start();
    // The session opens with the first record and then tells the level; until then everything is wanted. So
    // it is for a moment where it is open and off: what is followed at every level (see setLevel) must come
    // on.
    setLevel(session::sink::mayRecord() ? raw::RecordingLevel::History : raw::RecordingLevel::Off);
    Activity::instance().begin(session::levelAtStart());
    return true;
}

bool Client::subscribe() noexcept {
    const CuptiApi& api = cuptiApi();
    char other[256] = {};
    CUptiResult result = CUPTI_ERROR_UNKNOWN;
    if (api.subscribeV2 != nullptr) {
        CUpti_SubscriberParams params{};
        params.structSize = sizeof params;
        params.subscriberName = "GraphDoctor";
        params.oldSubscriberName = other;
        params.oldSubscriberSize = sizeof other;
        result = api.subscribeV2(&m_subscriber, onCallback, this, &params);
    } else {
        result = api.subscribe(&m_subscriber, onCallback, this);
    }
    if (result == CUPTI_SUCCESS) {
        m_subscribed.store(true, std::memory_order_release);
        return true;
    }
    const char* text = nullptr;
    if (api.getResultString != nullptr) {
        api.getResultString(result, &text);
    }
    try {
        std::string why = "another profiler already uses CUPTI";
        if (other[0] != '\0') {
            why += std::string(" (") + other + ")";
        }
        const bool taken = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
            || result == CUPTI_ERROR_MAX_LIMIT_REACHED;
        if (m_yielded.load(std::memory_order_acquire)) {
            if (m_saidNotGivenBack.exchange(true, std::memory_order_relaxed)) {
                return false;
            }
            reportCoverage(false, "PyTorch's profiler used CUPTI and keeps it (--with-profiler=yield)");
            session::sink::issue(raw::IssueSeverity::DataLoss, "cupti_not_given_back",
                "PyTorch's profiler has ended and keeps CUPTI: from its first use on, CUDA calls and device "
                "activity are "
                "not recorded (--with-profiler=keep turns that round)");
            return false;
        }
        say(taken ? "second_subscriber" : "subscribe_failed",
            taken ? why : std::string("CUPTI refused: ") + (text != nullptr ? text : "unknown error"));
    } catch (...) { }
    return false;
}

void Client::enable(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept {
    const CUptiResult result = cuptiApi().enableCallback(on ? 1 : 0, m_subscriber, domain, id);
    // Ids that a driver does not know are refused as invalid; that is no reason to give up the others.
    if (on && result != CUPTI_SUCCESS && result != CUPTI_ERROR_INVALID_PARAMETER) {
        refused(Refusal::Callbacks);
    }
}

void Client::enableCalls(bool on, bool launches) noexcept {
    std::size_t count = 0;
    const FollowedCall* calls = followedCalls(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (!on && isFollowedWhenOff(calls[i].api)) {
            continue; // see setLevel()
        }
        if (isLaunch(calls[i].api) == launches) {
            enable(on, CUPTI_CB_DOMAIN_DRIVER_API, calls[i].id);
        }
    }
}

void Client::enableResources() noexcept {
    for (const auto id : kResources) {
        enable(true, CUPTI_CB_DOMAIN_RESOURCE, id);
    }
}

void Client::setLevel(raw::RecordingLevel level) noexcept {
    if (!subscribed()) {
        return;
    }
    const bool on = level != raw::RecordingLevel::Off;
    {
        const session::SpinGuard guard(m_enableLock);
        if (m_callsOn == on) {
            return;
        }
        m_callsOn = on;
        // Once on, graphs and instantiates are followed for ever, also at level Off: an executable made
        // unseen would keep graph-level tracing off for the rest of the job. Neither happens on a replay. The
        // launch of a graph is followed too: with its callback off a launch under graph-level tracing
        // crashed, and kinds are switched between replays. So are the calls that begin a capture: no stream
        // may be asked for its state while they run. Nor may one be asked that has ended.
        if (on) {
            enableResources();
        }
        enableCalls(on, false);
        if (!on && m_launchesOn) {
            m_launchesOn = false;
            enableCalls(false, true);
            m_launchesSinceNs.store(0, std::memory_order_relaxed);
        }
    }
    followCaptures();
    if (wasRefused(Refusal::Callbacks)) {
        Activity::instance().unknownExec(); // they come and go unseen: never with graph-level tracing
    }
}

void Client::followCaptures() noexcept {
    if (session::sink::openCaptures() == 0 && m_launchesGivenUp.exchange(false, std::memory_order_relaxed)) {
        reportLaunchCoverage();
    }
    const session::SpinGuard guard(m_enableLock);
    if (!subscribed()) {
        return;
    }
    // Read again under the lock: of two threads that begin and end captures the later one decides.
    const bool capturing
        = session::sink::openCaptures() > 0 && !m_launchesGivenUp.load(std::memory_order_relaxed);
    const bool on = m_callsOn && (capturing || followsEagerLaunches());
    if (!on || !capturing) {
        m_launchesSinceNs.store(0, std::memory_order_relaxed);
    } else if (m_launchesSinceNs.load(std::memory_order_relaxed) == 0) {
        m_launchesSinceNs.store(session::sink::nowNs(), std::memory_order_relaxed);
    }
    if (on != m_launchesOn) {
        m_launchesOn = on;
        enableCalls(on, true);
    }
}

void Client::eagerLaunchSeen() noexcept {
    std::uint32_t left = m_eagerLaunchesLeft.load(std::memory_order_relaxed);
    while (left != 0 && !m_eagerLaunchesLeft.compare_exchange_weak(left, left - 1)) { }
    if (left == 1) {
        followCaptures();
        reportLaunchCoverage();
    }
}

void Client::replayed() noexcept {
    if (followsEagerLaunches() && m_eagerLaunchesLeft.exchange(0) != 0) {
        followCaptures();
        reportLaunchCoverage();
    }
}

void Client::reportLaunchCoverage() noexcept {
    const bool all = followsEagerLaunches();
    session::sink::coverage(raw::CoverageSource::launch_callbacks,
        all ? raw::CoverageState::Complete : raw::CoverageState::Partial,
        all ? "" : "only while a capture is open, and until the first replay");
}

bool Client::otherProfiler(bool active) noexcept {
    if (active) {
        const bool has = subscribed();
        if (has) {
            letGo();
        }
        return has;
    }
    return m_yielded.load(std::memory_order_acquire) && takeAgain();
}

void Client::letGo() noexcept {
    Activity::instance().pause();
    {
        const session::SpinGuard guard(m_enableLock);
        m_subscribed.store(false, std::memory_order_release);
        m_callsOn = m_launchesOn = false;
        m_launchesSinceNs.store(0, std::memory_order_relaxed);
    }
    // Not under the lock: it may wait for callbacks that are running, and those may want the lock.
    cuptiApi().unsubscribe(m_subscriber);
    m_yielded.store(true, std::memory_order_release);
    session::sink::forgetOpenCaptures();
    reportCoverage(false, "PyTorch's profiler used CUPTI (--with-profiler=yield)");
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
        session::complain("PyTorch's profiler takes CUPTI over; from here on this process's CUDA calls and "
                          "device activity are not recorded (--with-profiler=keep turns that round)");
    }
    session::sink::issue(raw::IssueSeverity::DataLoss, "yielded_to_profiler",
        "PyTorch's profiler took CUPTI over: CUDA calls and device activity of that time are in its trace, "
        "not in this "
        "one (--with-profiler=keep turns that round)");
}

bool Client::takeAgain() noexcept {
    if (!subscribe()) {
        return false;
    }
    m_yielded.store(false, std::memory_order_release);
    Activity::instance().resume();
    const raw::RecordingLevel level = session::sink::level();
    setLevel(level);
    const bool on = level != raw::RecordingLevel::Off;
    reportCoverage(on, on ? "" : "recording is off");
    Activity::instance().setLevel(level);
    return true;
}

void Client::tick(std::int64_t nowNs) noexcept {
    const std::int64_t since = m_launchesSinceNs.load(std::memory_order_relaxed);
    if (since != 0 && nowNs - since > kLaunchWindowNs) {
        m_launchesGivenUp.store(true, std::memory_order_relaxed);
        followCaptures();
        session::sink::coverage(raw::CoverageSource::launch_callbacks, raw::CoverageState::Absent,
            "a capture has been open for more than 60 s");
    }
}

void Client::nodeParamsUnreadable() noexcept {
    if (!m_unreadableSeen.exchange(true, std::memory_order_relaxed)) {
        session::sink::coverage(raw::CoverageSource::node_params, raw::CoverageState::Partial,
            "the driver does not tell the parameters of some nodes");
    }
}

std::uint32_t Client::deviceOf(CUcontext context, std::uint64_t& contextId) noexcept {
    std::uint32_t device = 0;
    contextId = m_objects.context(context, device);
    if (contextId == 0 && context != nullptr) {
        if (cuptiApi().getDeviceId(context, &device) != CUPTI_SUCCESS) {
            refused(Refusal::Devices);
            device = 0;
        }
        contextId = m_objects.contextCreated(context, device);
        Activity::instance().contextSeen(context, contextId);
    }
    return device;
}

void Client::contextUsed(CUcontext context, std::uint64_t contextId) noexcept {
    if (contextId == m_lastContextUsed.load(std::memory_order_relaxed)
        || session::sink::openCaptures() != 0) {
        return;
    }
    // CUPTI may know the stream only after the context's first work: asked again at later calls, not for
    // ever.
    if (!m_objects.wantsLegacyStream(context) || Activity::instance().learnLegacyStream(context, contextId)) {
        m_objects.legacyStreamKnown(context);
        m_lastContextUsed.store(contextId, std::memory_order_relaxed);
    }
}

namespace {

std::uint32_t markOf(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) {
        return raw::kMarkResource | id;
    }
    const bool isExit = static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT;
    return raw::kMarkCall | (isExit ? raw::kMarkExit : 0) | static_cast<std::uint32_t>(followedCall(id));
}

// Known when the thread has recorded something: its first callback has no mark.
void learnMark(ThreadCalls& calls) noexcept {
    if (raw::ThreadMark* mark = session::sink::threadMark(); mark != nullptr) {
        calls.mark = &mark->callback;
    }
}

} // namespace

void CUPTIAPI onCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    ThreadCalls& calls = ThreadCalls::current();
    auto& client = *static_cast<Client*>(user);
    // CU_INIT_FINISHED comes without data. The driver serves no forked children: their calls only fail.
    if (calls.inside || data == nullptr || !client.isSameProcess()) {
        return;
    }
    const int savedErrno = errno;
    {
        const InsideGuard guard(calls);
        calls.says(markOf(domain, id, data));
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
            onDriverCall(client, calls, id, *static_cast<const CUpti_CallbackData*>(data));
        } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
            onResource(client, calls, id, *static_cast<const CUpti_ResourceData*>(data));
        }
        if (calls.mark == nullptr) {
            learnMark(calls);
        }
        calls.says(0);
    }
    errno = savedErrno;
}

} // namespace gd::cupti
