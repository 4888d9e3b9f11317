// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/activity_records.h"

#include "collector/session/sink.h"

#include <cstring>

namespace gd::cupti {

namespace {

namespace sink = session::sink;

// NCCL's device functions all begin so; the name of a collective's kernel is the only mark it carries.
bool isCommKernel(const char* name) noexcept {
    return name != nullptr && std::strncmp(name, "ncclDevKernel", 13) == 0;
}

std::uint32_t copyKind(std::uint8_t kind) noexcept {
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return GD_RT_COPY_HTOD;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return GD_RT_COPY_DTOH;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return GD_RT_COPY_HTOH;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return GD_RT_COPY_PTOP;
    default:
        return GD_RT_COPY_DTOD;
    }
}

std::uint16_t memoryKind(std::uint8_t kind) noexcept {
    switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
        return GD_RT_MEMORY_HOST_PAGEABLE;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
        return GD_RT_MEMORY_HOST_PINNED;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
        return GD_RT_MEMORY_DEVICE;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
        return GD_RT_MEMORY_MANAGED;
    default:
        return 0;
    }
}

std::uint16_t syncApi(CUpti_ActivitySynchronizationType type) noexcept {
    switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
        return GD_API_EVENT_SYNCHRONIZE;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
        return GD_API_STREAM_WAIT_EVENT;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
        return GD_API_STREAM_SYNCHRONIZE;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
        return GD_API_DEVICE_SYNCHRONIZE;
    default:
        return GD_API_NONE;
    }
}

/// What kernels, copies and fills have in common. False: the record is left out.
template <class Record>
bool begin(gd_rt_activity& out, const Record& record, std::uint32_t kind, const RecordContext& context,
    RecordCounts& counts) noexcept {
    const OffIntervals& off = kind == GD_RT_ACTIVITY_GRAPH ? context.graphsOff : context.kernelsOff;
    const auto startNs = static_cast<std::int64_t>(record.start);
    const auto endNs = static_cast<std::int64_t>(record.end);
    if (startNs == 0 || endNs < startNs) {
        ++counts.untimed;
        return false;
    }
    if (off.touches(startNs, endNs)) {
        return false;
    }
    out.size = sizeof out;
    out.kind = kind;
    out.start_ns = startNs;
    out.end_ns = endNs;
    out.correlation = record.correlationId;
    out.device = record.deviceId;
    out.stream = context.stream(record.contextId, record.streamId);
    return true;
}

template <class Record> void setNode(gd_rt_activity& out, const Record& record) noexcept {
    out.node = record.graphNodeId;
    out.exec = record.graphNodeId != 0 ? record.graphId : 0;
}

template <class Kernel>
void kernel(const Kernel& record, const RecordContext& context, RecordCounts& counts) noexcept {
    ++(record.graphNodeId != 0 ? counts.nodes : counts.eagerKernels);
    gd_rt_activity out{};
    if (!begin(out, record, GD_RT_ACTIVITY_KERNEL, context, counts)) {
        return;
    }
    setNode(out, record);
    out.function = record.name != nullptr ? record.name : "";
    out.grid[0] = static_cast<std::uint32_t>(record.gridX);
    out.grid[1] = static_cast<std::uint32_t>(record.gridY);
    out.grid[2] = static_cast<std::uint32_t>(record.gridZ);
    out.block[0] = static_cast<std::uint32_t>(record.blockX);
    out.block[1] = static_cast<std::uint32_t>(record.blockY);
    out.block[2] = static_cast<std::uint32_t>(record.blockZ);
    out.shared_bytes = static_cast<std::uint32_t>(record.dynamicSharedMemory);
    sink::ActivityExtra extra;
    extra.registers = record.registersPerThread;
    extra.staticSharedBytes = static_cast<std::uint32_t>(record.staticSharedMemory);
    extra.isComm = isCommKernel(record.name);
    sink::activity(out, extra);
}

template <class Copy>
void copy(const Copy& record, const RecordContext& context, RecordCounts& counts) noexcept {
    counts.nodes += record.graphNodeId != 0 ? 1 : 0;
    gd_rt_activity out{};
    if (!begin(out, record, GD_RT_ACTIVITY_MEMCPY, context, counts)) {
        return;
    }
    setNode(out, record);
    out.copy_kind = copyKind(record.copyKind);
    out.bytes = record.bytes;
    sink::ActivityExtra extra;
    extra.srcKind = memoryKind(record.srcKind);
    extra.dstKind = memoryKind(record.dstKind);
    sink::activity(out, extra);
}

void fill(const CUpti_ActivityMemset4& record, const RecordContext& context, RecordCounts& counts) noexcept {
    counts.nodes += record.graphNodeId != 0 ? 1 : 0;
    gd_rt_activity out{};
    if (!begin(out, record, GD_RT_ACTIVITY_MEMSET, context, counts)) {
        return;
    }
    setNode(out, record);
    out.bytes = record.bytes;
    sink::ActivityExtra extra;
    extra.value = record.value;
    sink::activity(out, extra);
}

void graphTrace(
    const CUpti_ActivityGraphTrace2& record, const RecordContext& context, RecordCounts& counts) noexcept {
    gd_rt_activity out{};
    if (!begin(out, record, GD_RT_ACTIVITY_GRAPH, context, counts)) {
        return;
    }
    out.exec = record.graphId;
    sink::activity(out);
}

void synchronization(const CUpti_ActivitySynchronization& record, const RecordContext& context) noexcept {
    const std::uint16_t api = syncApi(record.type);
    if (api == GD_API_NONE || record.start == 0) {
        return;
    }
    gd_rt_activity out{};
    out.size = sizeof out;
    out.kind = GD_RT_ACTIVITY_SYNC;
    out.start_ns = static_cast<std::int64_t>(record.start);
    out.end_ns = static_cast<std::int64_t>(record.end);
    out.correlation = record.correlationId;
    const bool namesStream = record.streamId != CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    out.stream = namesStream ? context.stream(record.contextId, record.streamId) : 0;
    sink::ActivityExtra extra;
    extra.syncApi = api;
    sink::activity(out, extra);
}

} // namespace

RecordLayout layoutOf(std::uint32_t cuptiVersion) noexcept {
    if (cuptiVersion >= 130000 && cuptiVersion < 140000) {
        return RecordLayout::Cuda13;
    }
    if (cuptiVersion >= 18 && cuptiVersion < 1000) {
        return RecordLayout::Cuda12;
    }
    return RecordLayout::Unknown;
}

void reportRecord(const CUpti_Activity& record, RecordLayout layout, const RecordContext& context,
    RecordCounts& counts) noexcept {
    const bool cuda13 = layout == RecordLayout::Cuda13;
    switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        if (cuda13) {
            kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(record), context, counts);
        } else {
            kernel(reinterpret_cast<const CUpti_ActivityKernel9&>(record), context, counts);
        }
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        if (cuda13) {
            copy(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record), context, counts);
        } else {
            copy(reinterpret_cast<const CUpti_ActivityMemcpy5&>(record), context, counts);
        }
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: // between devices; one layout since 11.6 (cupti_activity_deprecated.h)
        copy(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record), context, counts);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        fill(reinterpret_cast<const CUpti_ActivityMemset4&>(record), context, counts);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        graphTrace(reinterpret_cast<const CUpti_ActivityGraphTrace2&>(record), context, counts);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        // Version 2 (13.0) only appends fields.
        synchronization(reinterpret_cast<const CUpti_ActivitySynchronization&>(record), context);
        break;
    default:
        break;
    }
}

} // namespace gd::cupti
