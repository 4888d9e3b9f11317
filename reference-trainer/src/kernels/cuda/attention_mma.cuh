// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/common.cuh"

namespace gdt::kernels::cuda {

/// Whether the tensor-core form can run: head size 64 or 128, rows that can be read 16 bytes at a time.
[[nodiscard]] bool mmaFits(const AttentionForward<BFloat16>::Args& g);
[[nodiscard]] bool mmaFits(const AttentionBackward<BFloat16>::Args& g);

[[nodiscard]] cudaError_t mmaForward(const AttentionForward<BFloat16>::Args& g, LaunchContext& context);
[[nodiscard]] cudaError_t mmaBackward(const AttentionBackward<BFloat16>::Args& g, LaunchContext& context);

} // namespace gdt::kernels::cuda
