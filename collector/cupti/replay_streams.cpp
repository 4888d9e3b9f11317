// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/replay_streams.h"

#include "collector/cupti/driver_api.h"
#include "collector/session/sink.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace gd::cupti {

using session::SpinGuard;

namespace {

/// A capture in the global mode of another thread forbids what it takes for unsafe, and ends with an error
/// when it is done all the same; asking is not unsafe.
class AsksFreely {
public:
    AsksFreely() noexcept { exchange(); }
    ~AsksFreely() {
        if (m_isRelaxed) {
            exchange();
        }
    }
    AsksFreely(const AsksFreely&) = delete;
    AsksFreely& operator=(const AsksFreely&) = delete;

private:
    void exchange() noexcept {
        const auto call = driverApi().threadExchangeStreamCaptureMode;
        m_isRelaxed = call != nullptr && call(&m_mode) == CUDA_SUCCESS;
    }

    CUstreamCaptureMode m_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool m_isRelaxed = false;
};

} // namespace

ReplayStreams::Entry ReplayStreams::entryOf(const CallArguments& arguments, CUcontext context) noexcept {
    const bool perThread = arguments.stream == CU_STREAM_PER_THREAD
        || (arguments.stream == nullptr && arguments.defaultStream == DefaultStream::PerThread);
    if (perThread) {
        return {CU_STREAM_PER_THREAD, context, static_cast<pid_t>(syscall(SYS_gettid))};
    }
    if (arguments.stream == nullptr || arguments.stream == CU_STREAM_LEGACY) {
        return {CU_STREAM_LEGACY, context, 0};
    }
    return {arguments.stream, context, 0};
}

void ReplayStreams::launching(
    ThreadCalls& calls, const CallArguments& arguments, CUcontext context) noexcept {
    if (!calls.launchesReplay) { // an exit that never came is not counted twice
        calls.launchesReplay = true;
        m_underWay.fetch_add(1, std::memory_order_acq_rel);
    }
    m_launches.fetch_add(1, std::memory_order_acq_rel);
    const std::uint32_t generation = m_generation.load(std::memory_order_acquire);
    if (calls.replayGeneration == generation && calls.replayStream == arguments.stream
        && calls.replayContext == context) {
        return;
    }
    const Entry entry = entryOf(arguments, context);
    const SpinGuard guard(m_lock);
    Entry* const end = m_entries + m_count;
    if (std::find(m_entries, end, entry) == end) {
        if (m_count == kMost) {
            m_tooMany = true;
            return;
        }
        m_entries[m_count++] = entry;
    }
    calls.replayGeneration = m_generation.load(std::memory_order_relaxed);
    calls.replayStream = arguments.stream;
    calls.replayContext = context;
}

void ReplayStreams::launchEnded(ThreadCalls& calls) noexcept {
    if (calls.launchesReplay) {
        calls.launchesReplay = false;
        m_underWay.fetch_sub(1, std::memory_order_acq_rel);
    }
}

void ReplayStreams::streamEnds(CUstream stream, CUcontext current) noexcept {
    const std::lock_guard looking(m_looking);
    Entry found;
    {
        const SpinGuard guard(m_lock);
        const Entry* const end = m_entries + m_count;
        const Entry* const entry = std::find_if(
            m_entries, m_entries + m_count, [&](const Entry& e) { return e.stream == stream; });
        found = entry != end ? *entry : Entry{};
    }
    if (found.stream != nullptr && !session::sink::deviceFailed()) {
        const AsksFreely asks;
        if (session::sink::openCaptures() != 0 || !isIdle(found, current)) {
            m_busyUntilNs.store(session::sink::nowNs() + kStreamEndsNs, std::memory_order_relaxed);
        }
    }
    streamDestroyed(stream);
}

void ReplayStreams::contextEnds() noexcept {
    const std::lock_guard looking(m_looking);
    contextDestroyed();
}

void ReplayStreams::contextDestroyed() noexcept {
    clear();
    m_busyUntilNs.store(session::sink::nowNs() + kContextEndsNs, std::memory_order_relaxed);
}

// It has an entry for each context that was current when a graph was launched on it.
void ReplayStreams::streamDestroyed(CUstream stream) noexcept {
    const SpinGuard guard(m_lock);
    for (unsigned i = m_count; i-- > 0;) {
        if (m_entries[i].stream == stream) {
            m_entries[i] = m_entries[--m_count];
            m_generation.fetch_add(1, std::memory_order_acq_rel);
        }
    }
}

bool ReplayStreams::isIdle(const Entry& entry, CUcontext current) noexcept {
    const DriverApi& driver = driverApi();
    if (driver.streamIsCapturing == nullptr || driver.streamQuery == nullptr
        || ((entry.stream == CU_STREAM_LEGACY || entry.thread != 0) && entry.context != current)
        || (entry.thread != 0 && entry.thread != static_cast<pid_t>(syscall(SYS_gettid)))) {
        return false;
    }
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.streamIsCapturing(entry.stream, &capture) == CUDA_SUCCESS
        && capture == CU_STREAM_CAPTURE_STATUS_NONE && driver.streamQuery(entry.stream) == CUDA_SUCCESS;
}

bool ReplayStreams::isIdle(CUcontext current) noexcept {
    const std::lock_guard looking(m_looking);
    if (session::sink::nowNs() < m_busyUntilNs.load(std::memory_order_relaxed)
        || session::sink::deviceFailed()) {
        return false;
    }
    Entry entries[kMost];
    unsigned count = 0;
    {
        const SpinGuard guard(m_lock);
        if (m_tooMany) {
            return false;
        }
        count = m_count;
        std::copy_n(m_entries, count, entries);
    }
    const AsksFreely asks;
    return std::all_of(entries, entries + count, [&](const Entry& entry) { return isIdle(entry, current); });
}

void ReplayStreams::clear() noexcept {
    const SpinGuard guard(m_lock);
    m_count = 0;
    m_generation.fetch_add(1, std::memory_order_acq_rel);
}

} // namespace gd::cupti
