// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common.cuh"
#include "kernels/ring_attention.h"

namespace gdt::kernels::cuda {

/// Whether a step of the ring can run on tensor cores: head size 64 or 128, rows that can be read 16 bytes at
/// a time, sums that can be read 8 at a time.
template <class Args> bool ringMmaFits(const Args& g) {
    bool fits = (g.headSize == 64 || g.headSize == 128) && g.qStep % 8 == 0 && g.queries > 0 && g.keys > 0
        && aligned(16, g.q, g.kv);
    if constexpr (requires { g.dkv; })
        fits = fits && aligned(16, g.dout) && aligned(8, g.dq, g.dkv);
    else
        fits = fits && aligned(8, g.out);
    return fits;
}

/// For bf16 and f16, what `ringMmaFits` says.
template <class T>
[[nodiscard]] cudaError_t ringMmaForward(
    const typename RingAttentionForward<T>::Args& g, LaunchContext& context);
template <class T>
[[nodiscard]] cudaError_t ringMmaBackward(
    const typename RingAttentionBackward<T>::Args& g, LaunchContext& context);

} // namespace gdt::kernels::cuda
