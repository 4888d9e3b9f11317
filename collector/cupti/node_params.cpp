// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/node_params.h"

#include "collector/cupti/driver_api.h"
#include "collector/session/sink.h"

#include <cstring>

namespace gd::cupti {

namespace {

bool driverParamInfo(const void* handle, std::size_t index, std::size_t& offset, std::size_t& bytes) {
    const auto& which = *static_cast<const KernelHandle*>(handle);
    const DriverApi& driver = driverApi();
    if (which.function != nullptr && driver.funcGetParamInfo != nullptr
        && driver.funcGetParamInfo(which.function, index, &offset, &bytes) == CUDA_SUCCESS) {
        return true;
    }
    return which.kernel != nullptr && driver.kernelGetParamInfo != nullptr
        && driver.kernelGetParamInfo(which.kernel, index, &offset, &bytes) == CUDA_SUCCESS;
}

const char* kernelName(const KernelHandle& which) {
    const DriverApi& driver = driverApi();
    const char* name = nullptr;
    if (which.function != nullptr && driver.funcGetName != nullptr
        && driver.funcGetName(&name, which.function) == CUDA_SUCCESS) {
        return name;
    }
    if (which.kernel != nullptr && driver.kernelGetName != nullptr
        && driver.kernelGetName(&name, which.kernel) == CUDA_SUCCESS) {
        return name;
    }
    return nullptr;
}

// CU_LAUNCH_PARAM_BUFFER_POINTER, pointer, CU_LAUNCH_PARAM_BUFFER_SIZE, pointer to size, CU_LAUNCH_PARAM_END.
bool packedBuffer(void* const* extra, const std::uint8_t*& data, std::size_t& bytes) {
    data = nullptr;
    bytes = 0;
    constexpr std::size_t kMaxPairs = 8;
    for (std::size_t i = 0; i < kMaxPairs; ++i) {
        const auto tag = reinterpret_cast<std::uintptr_t>(extra[i * 2]);
        if (tag == reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_END)) {
            return data != nullptr;
        }
        if (tag == reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_BUFFER_POINTER)) {
            data = static_cast<const std::uint8_t*>(extra[i * 2 + 1]);
        } else if (tag == reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_BUFFER_SIZE)) {
            bytes = *static_cast<const std::size_t*>(extra[i * 2 + 1]);
        } else {
            return false;
        }
    }
    return false;
}

// Reads name, shape and parameters into `out` and `packed`, to which `out` points afterwards. False: the
// parameters could not be read.
bool readLaunch(const KernelLaunch& launch, PackedParams& packed, gd_rt_node_params& out) {
    out.function = kernelName(launch.which);
    std::memcpy(out.grid, launch.grid, sizeof launch.grid);
    std::memcpy(out.block, launch.block, sizeof launch.block);
    out.shared_bytes = launch.sharedBytes;
    packParams(launch.kernelParams, launch.extra, driverParamInfo, &launch.which, packed);
    const DriverApi& driver = driverApi();
    const bool layoutKnown = driver.funcGetParamInfo != nullptr || driver.kernelGetParamInfo != nullptr;
    if (!packed.readable || !layoutKnown) {
        out.param_count = 1; // unknown, not none
        return false;
    }
    out.params = packed.params;
    out.param_count = packed.count;
    out.param_data = packed.data;
    out.param_data_bytes = packed.bytes;
    return true;
}

bool reportKernel(CUgraphNode node, gd_rt_node_params& out) {
    const DriverApi& driver = driverApi();
    CUDA_KERNEL_NODE_PARAMS params{};
    if (driver.graphKernelNodeGetParams == nullptr
        || driver.graphKernelNodeGetParams(node, &params) != CUDA_SUCCESS) {
        out.param_count = 1; // unknown, not none
        session::sink::nodeParams(out);
        return false;
    }
    const KernelLaunch launch{{params.func, params.kern}, {params.gridDimX, params.gridDimY, params.gridDimZ},
        {params.blockDimX, params.blockDimY, params.blockDimZ}, params.sharedMemBytes, params.kernelParams,
        params.extra};
    PackedParams packed;
    const bool read = readLaunch(launch, packed, out);
    session::sink::nodeParams(out);
    return read;
}

std::uint64_t endAddress(CUmemorytype type, CUdeviceptr device, const void* host, CUarray array) {
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        return reinterpret_cast<std::uint64_t>(host);
    case CU_MEMORYTYPE_ARRAY:
        return reinterpret_cast<std::uint64_t>(array);
    default:
        return device;
    }
}

std::uint32_t copyKind(CUmemorytype from, CUmemorytype to) {
    const bool fromHost = from == CU_MEMORYTYPE_HOST;
    const bool toHost = to == CU_MEMORYTYPE_HOST;
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) {
        return 0; // the addresses decide; the importer knows the allocations
    }
    return fromHost ? (toHost ? GD_RT_COPY_HTOH : GD_RT_COPY_HTOD)
                    : (toHost ? GD_RT_COPY_DTOH : GD_RT_COPY_DTOD);
}

bool readCopy(CUgraphNode node, gd_rt_node_params& out) {
    CUDA_MEMCPY3D copy{};
    if (driverApi().graphMemcpyNodeGetParams == nullptr
        || driverApi().graphMemcpyNodeGetParams(node, &copy) != CUDA_SUCCESS) {
        return false;
    }
    out.dst = endAddress(copy.dstMemoryType, copy.dstDevice, copy.dstHost, copy.dstArray);
    out.src = endAddress(copy.srcMemoryType, copy.srcDevice, copy.srcHost, copy.srcArray);
    const std::uint64_t rows = copy.Height > 0 ? copy.Height : 1;
    const std::uint64_t planes = copy.Depth > 0 ? copy.Depth : 1;
    out.bytes = copy.WidthInBytes * rows * planes;
    out.copy_kind = copyKind(copy.srcMemoryType, copy.dstMemoryType);
    return true;
}

bool readFill(CUgraphNode node, gd_rt_node_params& out) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    if (driverApi().graphMemsetNodeGetParams == nullptr
        || driverApi().graphMemsetNodeGetParams(node, &fill) != CUDA_SUCCESS) {
        return false;
    }
    out.dst = fill.dst;
    out.value = fill.value;
    out.bytes = std::uint64_t{fill.elementSize} * fill.width * (fill.height > 0 ? fill.height : 1);
    return true;
}

bool readHost(CUgraphNode node, gd_rt_node_params& out) {
    CUDA_HOST_NODE_PARAMS host{};
    if (driverApi().graphHostNodeGetParams == nullptr
        || driverApi().graphHostNodeGetParams(node, &host) != CUDA_SUCCESS) {
        return false;
    }
    out.src = reinterpret_cast<std::uint64_t>(host.fn);
    out.dst = reinterpret_cast<std::uint64_t>(host.userData);
    return true;
}

bool readRelease(CUgraphNode node, gd_rt_node_params& out) {
    CUdeviceptr address = 0;
    if (driverApi().graphMemFreeNodeGetParams == nullptr
        || driverApi().graphMemFreeNodeGetParams(node, &address) != CUDA_SUCCESS) {
        return false;
    }
    out.dst = address;
    return true;
}

} // namespace

void packParams(void* const* kernelParams, void* const* extra, ParamInfo info, const void* function,
    PackedParams& out) noexcept {
    out.count = 0;
    out.bytes = 0;
    const std::uint8_t* buffer = nullptr;
    std::size_t bufferBytes = 0;
    const bool packed
        = kernelParams == nullptr && extra != nullptr && packedBuffer(extra, buffer, bufferBytes);
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::size_t index = 0;
    bool complete = true;
    for (; info(function, index, offset, bytes); ++index) {
        const std::uint8_t* source = nullptr;
        if (kernelParams != nullptr) {
            source = static_cast<const std::uint8_t*>(kernelParams[index]);
        } else if (packed && bufferBytes >= offset && bytes <= bufferBytes - offset) {
            source = buffer + offset;
        }
        if (source == nullptr || index >= kMaxParams || offset > kMaxParamBytes
            || bytes > kMaxParamBytes - offset) {
            complete = false;
            break;
        }
        // Gaps between parameters are padding; they read as zero.
        if (offset > out.bytes) {
            std::memset(out.data + out.bytes, 0, offset - out.bytes);
        }
        std::memcpy(out.data + offset, source, bytes);
        out.params[index] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)};
        out.bytes = static_cast<std::uint32_t>(offset + bytes);
        out.count = static_cast<std::uint32_t>(index + 1);
    }
    // A buffer whose layout the driver does not tell cannot be read; a kernel may also have no parameters at
    // all.
    out.readable = complete && (index > 0 || !packed || bufferBytes == 0);
}

void reportEagerLaunch(const KernelLaunch& launch, std::uint64_t stream) noexcept {
    gd_rt_node_params out{};
    out.size = sizeof out;
    PackedParams packed;
    readLaunch(launch, packed, out);
    session::sink::eagerLaunch(out, stream);
}

bool allocationOf(CUgraphNode node, std::uint64_t& address, std::uint64_t& bytes) noexcept {
    CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
    if (driverApi().graphMemAllocNodeGetParams == nullptr
        || driverApi().graphMemAllocNodeGetParams(node, &allocation) != CUDA_SUCCESS) {
        return false;
    }
    address = allocation.dptr;
    bytes = allocation.bytesize;
    return true;
}

bool reportNodeParams(CUgraphNode node, CUgraphNodeType type, std::uint64_t nodeId) noexcept {
    gd_rt_node_params out{};
    out.size = sizeof out;
    out.type = static_cast<std::uint32_t>(type);
    out.node = nodeId;
    bool read = false;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return reportKernel(node, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        read = readCopy(node, out);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        read = readFill(node, out);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        read = readHost(node, out);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        read = allocationOf(node, out.dst, out.bytes);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        read = readRelease(node, out);
        break;
    default:
        return true; // nothing to tell
    }
    if (read) {
        session::sink::nodeParams(out);
    }
    return read;
}

} // namespace gd::cupti
