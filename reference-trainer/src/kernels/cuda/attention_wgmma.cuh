// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/common.cuh"

namespace gdt::kernels::cuda {

/// Whether the current device has the matrix instructions of a warpgroup (compute capability 9.0).
[[nodiscard]] bool hasWarpgroupProducts();

/// For bf16 and f16, what `mmaFits` says, on such a device.
template <class T>
[[nodiscard]] cudaError_t wgmmaForward(const typename AttentionForward<T>::Args& g, LaunchContext& context);
template <class T>
[[nodiscard]] cudaError_t wgmmaBackward(const typename AttentionBackward<T>::Args& g, LaunchContext& context);

} // namespace gdt::kernels::cuda
