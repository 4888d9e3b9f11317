// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gd::cupti {

inline constexpr std::size_t kMaxParams = 256;
inline constexpr std::size_t kMaxParamBytes = 4096;

/// Packed kernel parameters of one launch.
struct PackedParams {
    gd_rt_param params[kMaxParams];
    std::uint8_t data[kMaxParamBytes];
    std::uint32_t count = 0; ///< parameters whose bytes are in `data`
    std::uint32_t bytes = 0;
    bool readable = false; ///< false: the launch has parameters that could not be read
};

/// Where a kernel's parameters lie, by index; false past the last one. cuFuncGetParamInfo of CUDA 12.4 and
/// newer.
using ParamInfo = bool (*)(const void* function, std::size_t index, std::size_t& offset, std::size_t& bytes);

/// Copies the parameters of a launch out of either form: an array of pointers, or a packed buffer in `extra`.
/// Parameters past kMaxParams or kMaxParamBytes are left out (then `readable` is false).
void packParams(void* const* kernelParams, void* const* extra, ParamInfo info, const void* function,
    PackedParams& out) noexcept;

/// A kernel is named by a CUfunction or, where a node was made from one, by a CUkernel. A launch call names
/// either in an argument of type CUfunction: then both are set. The driver refuses the wrong one with an
/// error (seen on CUDA 13.0: tests/e2e/probes, callback_queries).
struct KernelHandle {
    CUfunction function;
    CUkernel kernel;
};

/// How a kernel is launched. The pointers belong to the driver or the caller.
struct KernelLaunch {
    KernelHandle which;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t sharedBytes;
    void* const* kernelParams;
    void* const* extra;
};

/// Tells the sink of a kernel that was launched outside graphs. To be called before the launch call returns.
void reportEagerLaunch(const KernelLaunch& launch, std::uint64_t stream) noexcept;

/// What a memory allocation node allocates. False: the driver did not tell.
bool allocationOf(CUgraphNode node, std::uint64_t& address, std::uint64_t& bytes) noexcept;

/// Reads what a node does and hands it to the sink. To be called inside a callback, where the parameters are
/// the node's own copy; makes driver calls that are allowed during captures (tried on CUDA 13.0). False: the
/// driver did not tell.
bool reportNodeParams(CUgraphNode node, CUgraphNodeType type, std::uint64_t nodeId) noexcept;

} // namespace gd::cupti
