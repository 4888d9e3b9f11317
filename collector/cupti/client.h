// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/fork_mark.h"
#include "collector/cupti/memory_objects.h"
#include "collector/cupti/memory_sampler.h"
#include "collector/cupti/objects.h"
#include "collector/cupti/thread_calls.h"
#include "collector/raw/control_page.h"

#include <atomic>
#include <cstdint>

namespace gd::cupti {

/// The process's one CUPTI subscriber and what its callbacks share. Lives for ever; CUPTI is never finalised.
///
/// Callbacks run on the job's threads, also inside captures: they make only calls that are allowed there,
/// keep errno, throw nothing and change no result. Activity kinds are switched by Activity.
class Client {
public:
    static Client& instance() noexcept;

    /// Loads CUPTI, subscribes and enables the callbacks. Called once, by the driver's first cuInit. False:
    /// an issue was recorded and one line written to stderr; the job goes on without CUDA calls in its trace.
    bool start() noexcept;

    /// The part of start() that subscribes. False likewise.
    bool subscribe() noexcept;

    Objects& objects() noexcept { return m_objects; }
    MemoryObjects& memoryObjects() noexcept { return m_memoryObjects; }
    MemorySampler& memorySampler() noexcept { return m_memorySampler; }
    /// False in a forked child.
    bool isSameProcess() const noexcept { return m_forkMark.isSameProcess(); }
    bool subscribed() const noexcept { return m_subscribed.load(std::memory_order_acquire); }

    /// The recording level changed, or (again) applies: Off disables every callback.
    void setLevel(raw::RecordingLevel level) noexcept;
    /// Launch callbacks are on while a capture is open, and from the start to the first replay. Called after
    /// each call that begins or ends a capture.
    void followCaptures() noexcept;
    /// Called about every 50 ms: gives launch callbacks up when a capture stays open for kLaunchWindowNs.
    void tick(std::int64_t nowNs) noexcept;

    /// Another profiler of this process wants CUPTI, which has room for one subscriber: true unsubscribes,
    /// false subscribes again. Returns whether that worked. On a thread of the job, outside captures.
    bool otherProfiler(bool active) noexcept;
    /// Parameters of eager launches are wanted.
    bool followsEagerLaunches() const noexcept {
        return m_eagerLaunchesLeft.load(std::memory_order_relaxed) != 0;
    }
    void eagerLaunchSeen() noexcept;
    /// A graph was launched: from now on there is no warm-up to watch.
    void replayed() noexcept;
    void reportLaunchCoverage() noexcept;

    void nodeParamsUnreadable() noexcept;

    /// A call other than those on contexts returned while this context was current.
    void contextUsed(CUcontext context, std::uint64_t contextId) noexcept;
    /// Ordinal of the context's device; asks CUPTI the first time.
    std::uint32_t deviceOf(CUcontext context, std::uint64_t& contextId) noexcept;

private:
    // A capture that is never ended must not leave every later launch with the cost of a callback.
    static constexpr std::int64_t kLaunchWindowNs = 60'000'000'000;
    // A job that never replays must not pay for ever either: some microseconds a launch.
    static constexpr std::uint32_t kMaxEagerLaunches = 50'000;

    void letGo() noexcept;
    bool takeAgain() noexcept;
    void enable(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept;
    void enableCalls(bool on, bool launches) noexcept;
    void enableResources() noexcept;

    const ForkMark m_forkMark;
    CUpti_SubscriberHandle m_subscriber = nullptr;
    std::atomic<bool> m_subscribed{false};
    Objects m_objects;
    MemoryObjects m_memoryObjects;
    MemorySampler m_memorySampler;
    session::SpinLock m_enableLock; ///< cuptiEnableCallback wants its callers one after the other
    bool m_callsOn = false;
    bool m_launchesOn = false;
    std::atomic<bool> m_yielded{false};
    std::atomic<bool> m_saidNotGivenBack{false};
    std::atomic<std::int64_t> m_launchesSinceNs{0}; ///< on for captures since then; 0 = off
    std::atomic<bool> m_launchesGivenUp{false};
    std::atomic<std::uint32_t> m_eagerLaunchesLeft{kMaxEagerLaunches};
    std::atomic<bool> m_unreadableSeen{false};
    std::atomic<std::uint64_t> m_lastContextUsed{0};
};

/// CUPTI's callback.
void CUPTIAPI onCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

/// The two kinds of callbacks, for onCallback() and tests.
void onDriverCall(
    Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
void onResource(
    Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept;

/// Versions and devices as facts; by the collector's own thread. False: the driver does not answer (yet: the
/// job's first cuInit is still under way).
bool reportProcessFacts() noexcept;
/// What this client looks at and what it does not; `looking` false: nothing, for `reason`.
void reportCoverage(bool looking, const char* reason) noexcept;

} // namespace gd::cupti
