// SPDX-License-Identifier: Apache-2.0
// State, devices and their objects, and facts about the record itself.
#include "collector/session/sink.h"

#include "collector/raw/records_activity.h"
#include "collector/raw/records_api.h"
#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "collector/session/sink_memory.h"
#include "collector/session/stack_taker.h"

#include <type_traits>

namespace gd::session::sink {

bool enabled() noexcept {
    const std::uint32_t word
        = processPageNow.load(std::memory_order_acquire)->word.load(std::memory_order_acquire);
    return word != kWordOff;
}

bool mayRecord() noexcept {
    const ProcessPage* page = processPageNow.load(std::memory_order_acquire);
    return page->word.load(std::memory_order_acquire) != kWordOff
        || page->session.load(std::memory_order_relaxed) != nullptr;
}

bool activityWanted() noexcept {
    return publishedLevel() >= raw::RecordingLevel::Light;
}

raw::RecordingLevel level() noexcept {
    return publishedLevel();
}

std::int64_t nowNs() noexcept {
    return monotonicNs();
}

const char* variable(std::string_view name) noexcept {
    const SessionState* session = currentSession();
    return session != nullptr ? session->environment.variable(name) : nullptr;
}

raw::ThreadMark* threadMark() noexcept {
    const ThreadState* thread = threadNow;
    return thread != nullptr && thread->session == currentSession() ? thread->mark : nullptr;
}

bool deviceFailed() noexcept {
    const SessionState* session = currentSession();
    return session != nullptr && session->stickyErrors.load(std::memory_order_relaxed) != 0;
}

std::uint32_t openCaptures() noexcept {
    const SessionState* session = currentSession();
    return session != nullptr ? session->openCaptures.load(std::memory_order_relaxed) : 0;
}

raw::RecordingLevel levelWithoutPause() noexcept {
    const SessionState* session = currentSession();
    return session != nullptr ? session->levelWithoutPause.load(std::memory_order_relaxed) : level();
}

bool commSeen() noexcept {
    const SessionState* session = currentSession();
    return session != nullptr && session->commSeen.load(std::memory_order_relaxed);
}

void forgetOpenCaptures() noexcept {
    if (SessionState* session = currentSession(); session != nullptr) {
        session->offCount.fetch_add(1, std::memory_order_relaxed);
        SpinGuard guard(session->captureLock);
        session->captures.forget();
        session->openCaptures.store(0, std::memory_order_relaxed);
    }
}

std::uint64_t captureOf(std::uint64_t stream) noexcept {
    SessionState* session = currentSession();
    if (session == nullptr || session->openCaptures.load(std::memory_order_relaxed) == 0) {
        return 0;
    }
    SpinGuard guard(session->captureLock);
    return session->captures.captureOf(stream);
}

void device(const gd_rt_device& device) noexcept {
    sink::device(device, DeviceExtra{});
}

void device(const gd_rt_device& device, const DeviceExtra& extra) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    raw::Device record{};
    record.timeNs = monotonicNs();
    record.memoryBytes = device.memory_bytes;
    record.device = device.device;
    record.name = session.strings.string(device.name != nullptr ? device.name : "");
    record.uuid = session.strings.string(extra.uuid != nullptr ? extra.uuid : "");
    record.ccMajor = extra.ccMajor;
    record.ccMinor = extra.ccMinor;
    record.multiprocessors = extra.multiprocessors;
    record.workers = device.workers;
    session.ring.appendHistory(record);
    if (device.wakeup_p99_ns != 0) {
        raw::SchedulingNoise noise{};
        noise.device = device.device;
        noise.wakeupP99Ns = static_cast<std::int64_t>(device.wakeup_p99_ns);
        session.ring.appendHistory(noise);
    }
}

namespace {

template <class Record>
void writeObject(const Entry& entry, gd_rt_life life, const gd_rt_object& object, bool withStack) noexcept {
    Record record{};
    record.timeNs = monotonicNs();
    record.id = object.id;
    record.context = object.context;
    record.life = static_cast<std::uint16_t>(life);
    record.device = static_cast<std::uint16_t>(object.device);
    record.flags = object.flags;
    record.priority = object.priority;
    record.thread = entry.thread().lane.thread;
    record.stack = withStack && life == GD_RT_CREATED ? stackOfCall(entry.session(), entry.thread()) : 0;
    if constexpr (std::is_same_v<Record, raw::Event>) {
        appendFrequent(entry.session(), record, raw::CoverageSource::callbacks);
    } else {
        entry.session().ring.appendHistory(record);
    }
}

} // namespace

void context(gd_rt_life life, const gd_rt_object& object) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    writeObject<raw::Context>(entry, life, object, false);
    if (life == GD_RT_DESTROYED && object.id != 0) {
        freeWithContext(entry, object.id);
    }
}

void stream(gd_rt_life life, const gd_rt_object& object) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    writeObject<raw::Stream>(entry, life, object, true);
    SpinGuard guard(entry.session().captureLock);
    if (life == GD_RT_DESTROYED) {
        entry.session().captures.streamDestroyed(object.id);
    } else {
        entry.session().captures.streamCreated(object.id, object.flags);
    }
}

void event(gd_rt_life life, const gd_rt_object& object) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    writeObject<raw::Event>(entry, life, object, false);
    if (life == GD_RT_DESTROYED) {
        SpinGuard guard(entry.session().captureLock);
        entry.session().captures.eventDestroyed(object.id);
    }
}

// These also work while the level is off (the collector's own thread says so) and open no spool by themselves
// unless recording is on.

namespace {

template <class Write> void withSession(Write write) noexcept {
    if (const Entry entry; entry) {
        write(entry.session());
    } else if (SessionState* session = currentSession();
               session != nullptr && publishedLevel() == raw::RecordingLevel::Off) {
        write(*session);
    }
}

} // namespace

void coverage(raw::CoverageSource source, raw::CoverageState state, std::string_view reason) noexcept {
    withSession([=](SessionState& session) noexcept { writeCoverage(session, source, state, reason); });
}

void issue(raw::IssueSeverity severity, std::string_view code, std::string_view detail) noexcept {
    withSession([=](SessionState& session) noexcept { writeIssue(session, severity, code, detail); });
}

void fact(std::string_view key, std::string_view value) noexcept {
    withSession([=](SessionState& session) noexcept { writeFact(session, key, value); });
}

void lost(raw::CoverageSource source, std::uint64_t count) noexcept {
    withSession([=](SessionState& session) noexcept {
        raw::Loss record{};
        record.timeNs = monotonicNs();
        record.lane = static_cast<std::uint32_t>(raw::Lane::Events);
        record.source = static_cast<std::uint32_t>(source);
        record.droppedRecords = count;
        session.ring.appendHistory(record);
    });
}

void counter(std::string_view name, double value, std::uint32_t device) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    raw::Counter record{};
    record.timeNs = monotonicNs();
    record.value = value;
    record.name = entry.session().strings.string(name);
    record.device = device;
    entry.session().ring.append(entry.thread().lane, record);
}

} // namespace gd::session::sink
