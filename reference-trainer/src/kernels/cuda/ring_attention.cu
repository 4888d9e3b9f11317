// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention_parts.cuh"
#include "kernels/cuda/attention_rows.cuh"
#include "kernels/cuda/ring_attention_mma.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/ring_attention.h"

namespace gdt::kernels::cuda {

namespace {

template <class T>
cudaError_t ringForward(const typename RingAttentionForward<T>::Args& g, LaunchContext& context) {
    if constexpr (isNarrow<T>) {
        if (ringMmaFits(g))
            return ringMmaForward<T>(g, context);
    }
    const std::int64_t hidden = g.heads * g.headSize;
    const ForwardRows<T, Wide<T>> matrices{g.q, g.kv, g.kv + hidden, g.out, g.logSums, g.queries, g.keys,
        g.batch, g.heads, g.qStep, 2 * hidden, hidden, g.logSumsStep, static_cast<int>(g.headSize), g.causal,
        g.merge};
    return withDropout<Wide<T>>(
        g, [&](const auto& keep) { return rows::forwardBySize(matrices, keep, context); });
}

template <class T>
cudaError_t ringBackward(const typename RingAttentionBackward<T>::Args& g, LaunchContext& context) {
    if constexpr (isNarrow<T>) {
        if (ringMmaFits(g))
            return ringMmaBackward<T>(g, context);
    }
    const std::int64_t hidden = g.heads * g.headSize;
    const BackwardRows<T, Wide<T>> matrices{g.q, g.kv, g.kv + hidden, g.dout, g.logSums, g.rowSums, g.dq,
        g.dkv, g.dkv + hidden, g.queries, g.keys, g.batch, g.heads, g.qStep, 2 * hidden, hidden, hidden,
        2 * hidden, g.logSumsStep, static_cast<int>(g.headSize), g.causal, g.add};
    return withDropout<Wide<T>>(
        g, [&](const auto& keep) { return rows::backwardBySize(matrices, keep, context); });
}

template <class T> cudaError_t rowSums(const typename AttentionRowSums<T>::Args& g, LaunchContext& context) {
    if constexpr (isNarrow<T>) {
        const RowSumArgs<T> args{g.out, g.dout, g.rowSums, g.seqLen, g.batch, g.heads};
        const bool fits = aligned(16, g.out, g.dout);
        if (fits && g.headSize == 64)
            return launchRowSums<T, 64>(args, context);
        if (fits && g.headSize == 128)
            return launchRowSums<T, 128>(args, context);
    }
    const dim3 grid(blocksFor(g.seqLen, 4), static_cast<unsigned>(g.batch * g.heads));
    attentionRowSums<T, T><<<grid, 128, 0, context.stream>>>(
        g.out, g.dout, g.rowSums, g.seqLen, g.batch, g.heads, static_cast<int>(g.headSize));
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<RingAttentionForward<T>, ringForward<T>>(), entry<RingAttentionBackward<T>, ringBackward<T>>(),    \
        entry<AttentionRowSums<T>, rowSums<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> ringAttentionLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
