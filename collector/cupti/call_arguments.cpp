// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/call_arguments.h"

#include "collector/cupti/driver_calls.h"

#include <cstring>
#include <string_view>
#include <type_traits>

namespace gd::cupti {

namespace {

template <class T> std::uint64_t asWord(const T& value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uint64_t>(value);
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

// Argument structs name the same thing alike ("hStream", "bytesize"), so one reader by member name serves all
// of them; what has several names or types is told apart below. Each part is a function of its own because a
// template's `if constexpr (requires ...)` needs the struct's type.
template <class P> void readStream(const P& p, CallArguments& out) {
    if constexpr (requires { p.hStream; }) {
        out.namesStream = true;
        out.stream = p.hStream;
    } else if constexpr (requires { p.stream; }) {
        out.namesStream = true;
        out.stream = p.stream;
    } else if constexpr (requires { p.config->hStream; }) {
        out.namesStream = true;
        out.stream = p.config != nullptr ? p.config->hStream : nullptr;
    } else if constexpr (requires { p.instantiateParams->hUploadStream; }) {
        out.instantiate = p.instantiateParams;
    }
}

template <class P> void readEvent(const P& p, CallArguments& out) {
    if constexpr (requires { p.hEvent; }) {
        out.event = p.hEvent;
    } else if constexpr (requires { p.hEnd; }) {
        out.event = p.hEnd;
    } else if constexpr (requires { p.phEvent; }) {
        out.eventResult = p.phEvent;
    } else if constexpr (requires { p.event; }) {
        out.event = p.event;
    }
}

template <class P> void readGraph(const P& p, CallArguments& out) {
    if constexpr (requires { p.hGraph; }) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.hGraph)>, CUgraphExec>) {
            out.exec = p.hGraph; // cuGraphLaunch and cuGraphUpload call their executable so
        } else {
            out.graph = p.hGraph;
        }
    }
    if constexpr (requires { p.originalGraph; }) {
        out.graph = p.originalGraph;
    }
    if constexpr (requires { p.phGraph; }) {
        out.graphResult = p.phGraph;
    } else if constexpr (requires { p.phGraphClone; }) {
        out.graphResult = p.phGraphClone;
    }
    if constexpr (requires { p.hGraphExec; }) {
        out.exec = p.hGraphExec;
    }
    if constexpr (requires { p.phGraphExec; }) {
        out.execResult = p.phGraphExec;
    }
    if constexpr (requires { p.hNode; }) {
        out.node = p.hNode;
    }
    if constexpr (requires { p.resultInfo; }) {
        out.updateInfo = p.resultInfo;
    } else if constexpr (requires { p.updateResult_out; }) {
        out.updateResult = p.updateResult_out;
    }
}

template <class T> void readAddress(const T& value, CallArguments& out) {
    if constexpr (std::is_same_v<T, CUdeviceptr*>) {
        out.addressResult = value;
    } else if constexpr (std::is_same_v<T, void**>) {
        out.addressResult = reinterpret_cast<const CUdeviceptr*>(value); // host allocations: also 8 bytes
    } else if constexpr (!std::is_same_v<T, CUdeviceptr_v1*>) { // the 32-bit interface of CUDA 3
        out.address = asWord(value);
    }
}

template <class P> void readMemory(const P& p, CallArguments& out) {
    if constexpr (requires { p.dptr; }) {
        readAddress(p.dptr, out);
    } else if constexpr (requires { p.pdptr; }) {
        readAddress(p.pdptr, out);
    } else if constexpr (requires { p.pp; }) {
        readAddress(p.pp, out);
    } else if constexpr (requires { p.p; }) {
        readAddress(p.p, out);
    } else if constexpr (requires { p.devPtr; }) {
        readAddress(p.devPtr, out);
    } else if constexpr (requires { p.ptr; }) {
        readAddress(p.ptr, out);
    } else if constexpr (requires { p.addr; }) {
        readAddress(p.addr, out);
    } else if constexpr (requires { p.dstDevice; }) {
        readAddress(p.dstDevice, out);
    } else if constexpr (requires { p.dst; }) {
        readAddress(p.dst, out);
    } else if constexpr (requires { p.srcDevice; }) {
        readAddress(p.srcDevice, out);
    }
}

std::int32_t locationOf(const CUmemLocation& location) {
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kHostLocation;
}

// Where pools and physical memory come from and go to.
template <class P> void readBacking(const P& p, CallArguments& out) {
    if constexpr (requires { p.pool; }) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.pool)>, CUmemoryPool>) {
            out.pool = p.pool;
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.pool)>, CUmemoryPool*>) {
            out.poolResult = p.pool;
        }
    }
    if constexpr (requires { p.handle; }) {
        using Handle = std::remove_cvref_t<decltype(p.handle)>;
        if constexpr (std::is_same_v<Handle, CUmemGenericAllocationHandle>) {
            out.physical = p.handle;
        } else if constexpr (std::is_same_v<Handle, CUmemGenericAllocationHandle*>) {
            out.physicalResult = p.handle;
        }
    }
    if constexpr (requires { p.prop->location; }) {
        out.location = p.prop != nullptr ? locationOf(p.prop->location) : kNoLocation;
    } else if constexpr (requires { p.poolProps->location; }) {
        out.location = p.poolProps != nullptr ? locationOf(p.poolProps->location) : kNoLocation;
    }
    if constexpr (requires { p.pPitch; }) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.pPitch)>, std::size_t*>) {
            out.pitchResult = p.pPitch;
            out.rows = p.Height;
        }
    }
}

template <class P> std::uint64_t elementBytes(const P& p) {
    if constexpr (requires { p.uc; }) {
        return sizeof(p.uc);
    } else if constexpr (requires { p.us; }) {
        return sizeof(p.us);
    } else if constexpr (requires { p.ui; }) {
        return sizeof(p.ui);
    } else {
        return 1;
    }
}

template <class P> void readBytes(const P& p, CallArguments& out) {
    if constexpr (requires { p.bytesize; }) {
        out.bytes = p.bytesize;
    } else if constexpr (requires { p.ByteCount; }) {
        out.bytes = p.ByteCount;
    } else if constexpr (requires { p.N; }) {
        out.bytes = p.N * elementBytes(p);
    } else if constexpr (requires { p.WidthInBytes* p.Height; }) {
        out.bytes = std::uint64_t{p.WidthInBytes} * p.Height;
    } else if constexpr (requires { p.Width* p.Height; }) {
        out.bytes = std::uint64_t{p.Width} * p.Height * elementBytes(p);
    } else if constexpr (requires { p.size; }) {
        out.bytes = p.size;
    } else if constexpr (requires { p.minBytesToKeep; }) {
        out.bytes = p.minBytesToKeep;
    } else if constexpr (requires {
                             p.devPtr;
                             p.count;
                         }) {
        out.bytes = p.count;
    } else if constexpr (requires { p.pCopy->WidthInBytes; }) {
        if (p.pCopy != nullptr) {
            out.bytes = std::uint64_t{p.pCopy->WidthInBytes} * p.pCopy->Height;
            if constexpr (requires { p.pCopy->Depth; }) {
                out.bytes *= p.pCopy->Depth;
            }
        }
    }
}

template <class P> void readMode(const P& p, CallArguments& out) {
    if constexpr (requires { p.mode; }) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(p.mode)>>) {
            out.mode
                = p.mode != nullptr ? static_cast<std::uint32_t>(*p.mode) : 0; // wanted at enter, old at exit
        } else {
            out.mode = static_cast<std::uint32_t>(p.mode);
        }
    } else if constexpr (requires { p.flags; }) {
        out.mode = static_cast<std::uint32_t>(p.flags);
    } else if constexpr (requires { p.Flags; }) {
        out.mode = static_cast<std::uint32_t>(p.Flags);
    } else if constexpr (requires { p.isEnabled; }) {
        out.mode = p.isEnabled;
    }
    if constexpr (requires { p.priority; }) {
        out.priority = p.priority;
    }
}

template <class P> void read(const void* params, CallArguments& out) {
    if (params == nullptr) {
        return;
    }
    const P& p = *static_cast<const P*>(params);
    readStream(p, out);
    readEvent(p, out);
    readGraph(p, out);
    readMemory(p, out);
    readBacking(p, out);
    readBytes(p, out);
    readMode(p, out);
}

template <class P> void shapeOf(const P& p, KernelLaunch& out) {
    const std::uint32_t grid[] = {p.gridDimX, p.gridDimY, p.gridDimZ};
    const std::uint32_t block[] = {p.blockDimX, p.blockDimY, p.blockDimZ};
    std::memcpy(out.grid, grid, sizeof grid);
    std::memcpy(out.block, block, sizeof block);
    out.sharedBytes = p.sharedMemBytes;
}

template <class P> bool readLaunch(const void* params, KernelLaunch& out) {
    if constexpr (requires(const P& p) {
                      p.kernelParams;
                      p.f;
                  }) {
        if (params == nullptr) {
            return false;
        }
        const P& p = *static_cast<const P*>(params);
        out.which = {p.f, reinterpret_cast<CUkernel>(p.f)};
        out.kernelParams = p.kernelParams;
        out.extra = nullptr;
        if constexpr (requires { p.extra; }) {
            out.extra = p.extra;
        }
        if constexpr (requires { p.config->gridDimX; }) {
            if (p.config == nullptr) {
                return false;
            }
            shapeOf(*p.config, out);
        } else if constexpr (requires { p.gridDimX; }) {
            shapeOf(p, out);
        }
        return true;
    } else {
        return false;
    }
}

constexpr bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

constexpr bool isBlockingCopy(gd_api_id api) {
    return (api >= GD_API_MEMCPY && api <= GD_API_MEMCPY_PEER) || api == GD_API_MEMSET;
}

// Blocking copies run on a default stream although they name none.
constexpr DefaultStream defaultStreamOf(std::string_view name, gd_api_id api) {
    if (endsWith(name, "_ptsz") || endsWith(name, "_ptds")) {
        return DefaultStream::PerThread;
    }
    return isBlockingCopy(api) ? DefaultStream::Legacy : DefaultStream::None;
}

constexpr FollowedCall kCalls[] = {
#define GD_CALL(name, api) {CUPTI_DRIVER_TRACE_CBID_##name, GD_API_##api, #name},
    GD_CUPTI_CALLS(GD_CALL) GD_CUPTI_CALLS_WITHOUT_ARGUMENTS(GD_CALL)
#undef GD_CALL
};

} // namespace

const FollowedCall* followedCalls(std::size_t& count) noexcept {
    count = sizeof kCalls / sizeof kCalls[0];
    return kCalls;
}

gd_api_id followedCall(CUpti_CallbackId id) noexcept {
    switch (id) {
#define GD_CALL(name, api)                                                                                   \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                                     \
        return GD_API_##api;
        GD_CUPTI_CALLS(GD_CALL)
        GD_CUPTI_CALLS_WITHOUT_ARGUMENTS(GD_CALL)
#undef GD_CALL
    default:
        return GD_API_NONE;
    }
}

bool decodeLaunch(CUpti_CallbackId id, const void* params, KernelLaunch& out) noexcept {
    switch (id) {
#define GD_CALL(name, api_)                                                                                  \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                                     \
        return readLaunch<name##_params>(params, out);
        GD_CUPTI_CALLS(GD_CALL)
#undef GD_CALL
    default:
        return false;
    }
}

CallArguments decodeArguments(CUpti_CallbackId id, const void* params) noexcept {
    CallArguments out;
    switch (id) {
#define GD_CALL(name, api_)                                                                                  \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                                     \
        out.api = GD_API_##api_;                                                                             \
        out.defaultStream = defaultStreamOf(#name, GD_API_##api_);                                           \
        read<name##_params>(params, out);                                                                    \
        break;
        GD_CUPTI_CALLS(GD_CALL)
#undef GD_CALL
#define GD_CALL(name, api_)                                                                                  \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                                     \
        out.api = GD_API_##api_;                                                                             \
        break;
        GD_CUPTI_CALLS_WITHOUT_ARGUMENTS(GD_CALL)
#undef GD_CALL
    default:
        break;
    }
    return out;
}

} // namespace gd::cupti
