// SPDX-License-Identifier: Apache-2.0
// The part of Activity that hands out buffers for records and reads them.
#include "collector/cupti/activity.h"

#include "collector/cupti/cupti_api.h"
#include "collector/cupti/refusal.h"
#include "collector/cupti/thread_calls.h"
#include "collector/session/sink.h"

#include <cstdlib>

namespace gd::cupti {

namespace sink = session::sink;

namespace {

constexpr std::size_t kBufferAlignment = 8; // CUPTI's own demand

} // namespace

// Large ones while they fill within moments, small ones otherwise: what is in one when the process is killed
// is lost, and while a flush is held only full ones come back.
void Activity::chooseBufferSize(std::size_t bytes, std::size_t validBytes) noexcept {
    constexpr std::int64_t kMomentNs = 50'000'000;
    constexpr std::int64_t kLongNs = 500'000'000;
    if (validBytes * 10 < bytes * 9) { // a flush took it
        if (bytes == kLargeBufferBytes && validBytes < kSmallBufferBytes) {
            m_bufferBytes.store(kSmallBufferBytes, std::memory_order_relaxed);
        }
        return;
    }
    const std::int64_t nowNs = sink::nowNs();
    const std::int64_t sinceNs = nowNs - m_lastFullNs.exchange(nowNs, std::memory_order_relaxed);
    if (sinceNs < kMomentNs) {
        m_bufferBytes.store(kLargeBufferBytes, std::memory_order_relaxed);
    } else if (sinceNs > kLongNs) {
        m_bufferBytes.store(kSmallBufferBytes, std::memory_order_relaxed);
    }
}

void CUPTIAPI Activity::bufferRequested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* maxRecords) {
    const std::uint32_t size = instance().m_bufferBytes.load(std::memory_order_relaxed);
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, size));
    *bytes = *buffer != nullptr ? size : 0;
    *maxRecords = 0;
}

void CUPTIAPI Activity::bufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
    std::size_t bytes, std::size_t validBytes) {
    Activity& self = instance();
    const InsideGuard guard(ThreadCalls::current());
    RecordContext records{streamName, {}, {}};
    RecordCounts counts;
    {
        const session::SpinGuard offGuard(self.m_offLock);
        records.kernelsOff = self.m_kernelsOff;
        records.graphsOff = self.m_graphsOff;
    }
    self.m_bytesSeen.fetch_add(validBytes, std::memory_order_relaxed);
    CUpti_Activity* record = nullptr;
    const bool keepSyncs = self.m_keepSyncs.load(std::memory_order_relaxed);
    CUptiResult read = CUPTI_SUCCESS;
    while (buffer != nullptr && validBytes > 0
        && (read = cuptiApi().activityGetNextRecord(buffer, validBytes, &record)) == CUPTI_SUCCESS) {
        if (keepSyncs || record->kind != CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
            reportRecord(*record, self.m_layout, records, counts);
        }
    }
    if (self.m_keepsNodes.load(std::memory_order_relaxed)) {
        self.m_nodeRecords.fetch_add(counts.nodes, std::memory_order_relaxed);
    }
    if (self.m_eagerMemory.add(counts.eagerKernels)) {
        sink::issue(raw::IssueSeverity::Info, "eager_kernels_keep_memory",
            "CUPTI keeps 32 bytes of this process's memory for each kernel launched outside graphs, at every "
            "level: 1 GiB by now, and more until the process ends");
    }
    if (counts.untimed > 0) {
        sink::lost(raw::CoverageSource::node_activity, counts.untimed);
    }
    if (read != CUPTI_SUCCESS && read != CUPTI_ERROR_MAX_LIMIT_REACHED) { // the latter is a buffer's end
        refused(Refusal::Records);
    }
    if (cuptiApi().activityGetNumDroppedRecords != nullptr) {
        std::size_t dropped = 0;
        if (cuptiApi().activityGetNumDroppedRecords(context, stream, &dropped) != CUPTI_SUCCESS) {
            refused(Refusal::DropCount);
        } else if (dropped > 0) {
            sink::lost(raw::CoverageSource::node_activity, dropped);
        }
    }
    self.chooseBufferSize(bytes, validBytes);
    std::free(buffer);
}

} // namespace gd::cupti
