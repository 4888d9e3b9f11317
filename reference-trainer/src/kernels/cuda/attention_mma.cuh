// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/common.cuh"

namespace gdt::kernels::cuda {

/// Whether the tensor-core form can run: head size 64 or 128, rows that can be read 16 bytes at a time.
template <class Args> bool mmaFits(const Args& g) {
    bool fits = (g.headSize == 64 || g.headSize == 128) && aligned(16, g.qkv, g.out);
    if constexpr (requires { g.dqkv; })
        fits = fits && aligned(16, g.dout, g.dqkv);
    return fits;
}

/// For bf16 and f16.
template <class T>
[[nodiscard]] cudaError_t mmaForward(const typename AttentionForward<T>::Args& g, LaunchContext& context);
template <class T>
[[nodiscard]] cudaError_t mmaBackward(const typename AttentionBackward<T>::Args& g, LaunchContext& context);

} // namespace gdt::kernels::cuda
