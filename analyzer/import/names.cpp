// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/names.h"

#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace gd::importer {
namespace {

struct ApiRow {
    std::uint16_t id;
    std::string_view enumName;
    std::string_view driver;
    std::string_view runtime;
    std::uint32_t apiClass;
};
constexpr ApiRow kApis[] = {
#define GD_API_ROW(number, name, driver, runtime, klass)                                                     \
    {number, #name, driver, runtime, GD_API_CLASS_##klass},
    GD_API_CALLS(GD_API_ROW)
#undef GD_API_ROW
};

constexpr std::string_view kClasses[] = {
#define GD_CLASS_ROW(number, name) #name,
    GD_API_CLASSES(GD_CLASS_ROW)
#undef GD_CLASS_ROW
};

const ApiRow* find(std::uint16_t api) {
    // The list is in ascending order.
    const auto* found = std::lower_bound(std::begin(kApis), std::end(kApis), api,
        [](const ApiRow& row, std::uint16_t id) { return row.id < id; });
    return found != std::end(kApis) && found->id == api ? found : nullptr;
}

// Collectives of a host runtime have no driver function: comm_all_reduce reads better than nothing.
std::string lowerName(std::string_view enumName) {
    std::string name(enumName);
    std::transform(name.begin(), name.end(), name.begin(),
        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

struct ResultRow {
    int number;
    std::string_view name;
    std::string_view runtimeName;
};
// CUresult and the cudaError that the runtime returns for it; source: cuda.h and driver_types.h of CUDA 13.0.
constexpr ResultRow kResults[] = {
    {0, "CUDA_SUCCESS", "cudaSuccess"},
    {1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorInitializationError"},
    {4, "CUDA_ERROR_DEINITIALIZED", "cudaErrorCudartUnloading"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "cudaErrorDevicesUnavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "cudaErrorInvalidKernelImage"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "cudaErrorDeviceUninitialized"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "cudaErrorNoKernelImageForDevice"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "cudaErrorECCUncorrectable"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "cudaErrorNvlinkUncorrectable"},
    {226, "CUDA_ERROR_CONTAINED", "cudaErrorContained"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "cudaErrorOperatingSystem"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "cudaErrorInvalidResourceHandle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "cudaErrorIllegalState"},
    {500, "CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound"},
    {600, "CUDA_ERROR_NOT_READY", "cudaErrorNotReady"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "cudaErrorPeerAccessAlreadyEnabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cudaErrorSetOnActiveProcess"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "cudaErrorContextIsDestroyed"},
    {710, "CUDA_ERROR_ASSERT", "cudaErrorAssert"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cudaErrorHostMemoryAlreadyRegistered"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cudaErrorHostMemoryNotRegistered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorHardwareStackError"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "cudaErrorIllegalInstruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "cudaErrorMisalignedAddress"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "cudaErrorInvalidAddressSpace"},
    {718, "CUDA_ERROR_INVALID_PC", "cudaErrorInvalidPc"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "cudaErrorCooperativeLaunchTooLarge"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "cudaErrorTensorMemoryLeak"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "cudaErrorNotPermitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "cudaErrorNotSupported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "cudaErrorSystemNotReady"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "cudaErrorStreamCaptureUnsupported"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "cudaErrorStreamCaptureInvalidated"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "cudaErrorStreamCaptureMerge"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "cudaErrorStreamCaptureUnmatched"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "cudaErrorStreamCaptureUnjoined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "cudaErrorStreamCaptureIsolation"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "cudaErrorStreamCaptureImplicit"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "cudaErrorCapturedEvent"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "cudaErrorStreamCaptureWrongThread"},
    {909, "CUDA_ERROR_TIMEOUT", "cudaErrorTimeout"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "cudaErrorGraphExecUpdateFailure"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "cudaErrorExternalDevice"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cudaErrorInvalidClusterSize"},
    {999, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown"},
};

} // namespace

std::string_view nodeTypeName(std::uint16_t type) {
    switch (type) {
    case GD_RT_NODE_KERNEL:
        return "kernel";
    case GD_RT_NODE_MEMCPY:
        return "memcpy";
    case GD_RT_NODE_MEMSET:
        return "memset";
    case GD_RT_NODE_HOST:
        return "host";
    case GD_RT_NODE_GRAPH:
        return "graph";
    case GD_RT_NODE_EMPTY:
        return "empty";
    case GD_RT_NODE_WAIT_EVENT:
        return "wait_event";
    case GD_RT_NODE_EVENT_RECORD:
        return "event_record";
    case GD_RT_NODE_MEM_ALLOC:
        return "mem_alloc";
    case GD_RT_NODE_MEM_FREE:
        return "mem_free";
    case GD_RT_NODE_CONDITIONAL:
        return "conditional";
    case GD_RT_NODE_COMM:
        return "comm";
    default:
        return "other";
    }
}

std::string_view copyKindName(std::uint16_t kind) {
    constexpr std::array<std::string_view, 6> kNames{"other", "HtoD", "DtoH", "DtoD", "HtoH", "PtoP"};
    return kind < kNames.size() ? kNames[kind] : kNames[0];
}

std::string_view memoryKindName(std::uint16_t kind) {
    constexpr std::array<std::string_view, 10> kNames{"", "device", "device_async", "host_pinned",
        "host_registered", "managed", "vmm", "graph", "framework", "host_pageable"};
    return kind < kNames.size() ? kNames[kind] : kNames[0];
}

std::string_view captureModeName(std::uint16_t mode) {
    constexpr std::array<std::string_view, 3> kNames{"global", "thread_local", "relaxed"};
    return mode < kNames.size() ? kNames[mode] : "unknown";
}

std::string_view commKindName(std::uint16_t kind) {
    constexpr std::array<std::string_view, 9> kNames{"other", "all_reduce", "reduce_scatter", "all_gather",
        "broadcast", "reduce", "send", "recv", "all_to_all"};
    return kind < kNames.size() ? kNames[kind] : kNames[0];
}

std::string_view dtypeName(std::uint16_t dtype) {
    constexpr std::array<std::string_view, 12> kNames{"int8", "uint8", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
    return dtype < kNames.size() ? kNames[dtype] : dtype == raw::kByteDtype ? "byte" : "other";
}

std::string_view commSourceName(std::uint16_t source) {
    constexpr std::array<std::string_view, 4> kNames{"other", "runtime", "nccl_plugin", "nccl_nvtx"};
    return source < kNames.size() ? kNames[source] : kNames[0];
}

std::string_view coverageSourceName(std::uint32_t source) {
    switch (source) {
#define GD_COVERAGE_NAME(number, name)                                                                       \
    case number:                                                                                             \
        return #name;
        GD_COVERAGE_SOURCES(GD_COVERAGE_NAME)
#undef GD_COVERAGE_NAME
    default:
        return {};
    }
}

std::string_view coverageStateName(std::uint32_t state) {
    constexpr std::array<std::string_view, 3> kNames{"absent", "partial", "complete"};
    return state < kNames.size() ? kNames[state] : kNames[0];
}

std::string_view recordingLevelName(std::uint32_t level) {
    constexpr std::array<std::string_view, 5> kNames{"off", "history", "light", "standard", "full"};
    return level < kNames.size() ? kNames[level] : std::string_view();
}

std::uint32_t apiClass(std::uint16_t api) {
    const ApiRow* row = find(api);
    return row == nullptr ? std::uint32_t{GD_API_CLASS_OTHER} : row->apiClass;
}

std::string_view apiName(std::uint16_t api) {
    const ApiRow* row = find(api);
    return row == nullptr ? std::string_view() : row->driver;
}

Result<void> writeDimensionTables(Db& db) {
    GD_TRY_ASSIGN(
        Statement api, db.prepare("INSERT INTO api(api_id, name, runtime_name, class) VALUES (?, ?, ?, ?)"));
    for (const ApiRow& row : kApis) {
        const std::string name = row.driver.empty() ? lowerName(row.enumName) : std::string(row.driver);
        const auto runtime = row.runtime.empty() ? std::nullopt : std::optional(row.runtime);
        GD_TRY(api.runWith(row.id, name, runtime, kClasses[row.apiClass]));
    }
    GD_TRY_ASSIGN(
        Statement result, db.prepare("INSERT INTO result_code(result, name, runtime_name) VALUES (?, ?, ?)"));
    for (const ResultRow& row : kResults)
        GD_TRY(result.runWith(row.number, row.name, row.runtimeName));
    return {};
}

} // namespace gd::importer
