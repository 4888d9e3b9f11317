// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention_mask.h"
#include "kernels/cuda/common.cuh"

namespace gdt::kernels::cuda {

/// What each probability counts in attention's output: 1 without dropout, which then costs nothing.
struct KeepAll {
    static constexpr bool kDrops = false;
};

/// With dropout, 0 or `scale`. blockIdx.y of a kernel counts the (sample, head) pairs.
template <class W> struct KeepSome {
    static constexpr bool kDrops = true;
    AttentionMask mask;
    W scale;

    [[nodiscard]] __device__ W share(std::int64_t heads, std::int64_t i, std::int64_t j) const {
        const std::int64_t pair = blockIdx.y;
        return mask.kept(pair / heads, pair % heads, i, j) ? scale : W(0);
    }
    /// Of positions (q, k) and (q, k + 1) of a whole sequence, k even.
    __device__ void sharesOfRow(W (&shares)[2], std::int64_t heads, std::int64_t q, std::int64_t k) const {
        const PhiloxBlock r = mask.block(blockIdx.y / heads, blockIdx.y % heads, q, k);
        shares[0] = (q % 2 == 0 ? r.v0 : r.v2) >= mask.threshold ? scale : W(0);
        shares[1] = (q % 2 == 0 ? r.v1 : r.v3) >= mask.threshold ? scale : W(0);
    }
    /// Of positions (q, k) and (q + 1, k), q even.
    __device__ void sharesOfColumn(W (&shares)[2], std::int64_t heads, std::int64_t q, std::int64_t k) const {
        const PhiloxBlock r = mask.block(blockIdx.y / heads, blockIdx.y % heads, q, k);
        shares[0] = (k % 2 == 0 ? r.v0 : r.v1) >= mask.threshold ? scale : W(0);
        shares[1] = (k % 2 == 0 ? r.v2 : r.v3) >= mask.threshold ? scale : W(0);
    }
};

/// Calls f with KeepAll or KeepSome, as the arguments of an attention kernel say.
template <class W, class Args, class F> cudaError_t withDropout(const Args& args, const F& f) {
    if (args.dropout <= 0)
        return f(KeepAll{});
    return f(KeepSome<W>{maskOf(args), static_cast<W>(1.0 / (1.0 - args.dropout))});
}

} // namespace gdt::kernels::cuda
