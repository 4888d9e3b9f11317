// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention_mask.h"
#include "kernels/cuda/common.cuh"

namespace gdt::kernels::cuda {

/// What each probability counts in attention's output: 1 without dropout, which then costs nothing.
struct KeepAll {
    static constexpr bool kDrops = false;

    [[nodiscard]] __device__ KeepAll of(int, std::int64_t) const { return {}; }
};

/// With dropout, 0 or `scale`.
template <class W> struct KeepSome {
    static constexpr bool kDrops = true;
    AttentionMask mask;
    W scale;
    int sample = 0, head = 0;

    /// The same for `keptAround` of this one of the (sample, head) pairs.
    [[nodiscard]] __device__ KeepSome of(int pair, std::int64_t heads) const {
        return {mask, scale, pair / static_cast<int>(heads), pair % static_cast<int>(heads)};
    }

    /// blockIdx.y of the kernel counts the (sample, head) pairs.
    [[nodiscard]] __device__ W share(std::int64_t heads, std::int64_t i, std::int64_t j) const {
        const std::int64_t pair = blockIdx.y;
        return mask.kept(pair / heads, pair % heads, i, j) ? scale : W(0);
    }
    /// Which of the four positions around (q, k) of a whole sequence stay, a bit each, in the order of
    /// AttentionMask::block.
    [[nodiscard]] __device__ unsigned keptAround(std::int64_t q, std::int64_t k) const {
        const PhiloxBlock r = mask.block(sample, head, q, k);
        const auto bit
            = [&](std::uint32_t number, int i) { return (number >= mask.threshold ? 1U : 0U) << i; };
        return bit(r.v0, 0) | bit(r.v1, 1) | bit(r.v2, 2) | bit(r.v3, 3);
    }
};

/// Calls f with KeepAll or KeepSome, as the arguments of an attention kernel say.
template <class W, class Args, class F> cudaError_t withDropout(const Args& args, const F& f) {
    if (args.dropout <= 0)
        return f(KeepAll{});
    return f(KeepSome<W>{maskOf(args), static_cast<W>(1.0 / (1.0 - args.dropout))});
}

} // namespace gdt::kernels::cuda
