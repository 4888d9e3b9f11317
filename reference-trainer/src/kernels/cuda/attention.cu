// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/attention_rows.cuh"
#include "kernels/cuda/attention_wgmma.cuh"
#include "kernels/cuda/tables.cuh"

namespace gdt::kernels::cuda {

namespace {

template <class T>
cudaError_t shortForward(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    const std::int64_t hidden = g.heads * g.headSize;
    const ForwardRows<T, T> matrices{g.qkv, g.qkv + hidden, g.qkv + 2 * hidden, g.out, g.logSums, g.seqLen,
        g.seqLen, g.batch, g.heads, 3 * hidden, 3 * hidden, hidden, g.seqLen, static_cast<int>(g.headSize),
        true, false};
    return withDropout<Wide<T>>(
        g, [&](const auto& keep) { return rows::forwardBySize(matrices, keep, context); });
}

template <class T> cudaError_t forward(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    if constexpr (isNarrow<T>) {
        if (mmaFits(g))
            return hasWarpgroupProducts() ? wgmmaForward<T>(g, context) : mmaForward<T>(g, context);
    }
    return shortForward<T>(g, context);
}

template <class T>
cudaError_t backward(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    if constexpr (isNarrow<T>) {
        if (mmaFits(g))
            return hasWarpgroupProducts() ? wgmmaBackward<T>(g, context) : mmaBackward<T>(g, context);
    }
    const dim3 grid(blocksFor(g.seqLen, 4), static_cast<unsigned>(g.batch * g.heads));
    attentionRowSums<T, T><<<grid, 128, 0, context.stream>>>(
        g.out, g.dout, g.scratch, g.seqLen, g.batch, g.heads, static_cast<int>(g.headSize));
    const std::int64_t hidden = g.heads * g.headSize;
    const BackwardRows<T, T> matrices{g.qkv, g.qkv + hidden, g.qkv + 2 * hidden, g.dout, g.logSums, g.scratch,
        g.dqkv, g.dqkv + hidden, g.dqkv + 2 * hidden, g.seqLen, g.seqLen, g.batch, g.heads, 3 * hidden,
        3 * hidden, hidden, 3 * hidden, 3 * hidden, g.seqLen, static_cast<int>(g.headSize), true, false};
    return withDropout<Wide<T>>(
        g, [&](const auto& keep) { return rows::backwardBySize(matrices, keep, context); });
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<AttentionForward<T>, forward<T>>(), entry<ShortAttentionForward<T>, shortForward<T>>(),            \
        entry<AttentionBackward<T>, backward<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> attentionLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
