// SPDX-License-Identifier: Apache-2.0
#include "kernels/ring_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gdt::kernels {

namespace {

template <class T> T dot(const T* a, const T* b, std::int64_t n) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

template <class T> void addScaled(T* to, T factor, const T* from, std::int64_t n) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
        to[i] += factor * from[i];
    }
}

// Where query i, key j and their statistics of one (sample, head) lie.
template <class Args> struct Place {
    const Args& a;
    std::int64_t b, h;

    [[nodiscard]] std::int64_t q(std::int64_t i) const {
        return (i * a.batch + b) * a.qStep + h * a.headSize;
    }
    [[nodiscard]] std::int64_t key(std::int64_t j) const {
        return (j * a.batch + b) * 2 * a.heads * a.headSize + h * a.headSize;
    }
    [[nodiscard]] std::int64_t value(std::int64_t j) const { return key(j) + a.heads * a.headSize; }
    [[nodiscard]] std::int64_t out(std::int64_t i) const {
        return (i * a.batch + b) * a.heads * a.headSize + h * a.headSize;
    }
    [[nodiscard]] std::int64_t row(std::int64_t i) const { return (b * a.heads + h) * a.logSumsStep + i; }
    [[nodiscard]] std::int64_t keys(std::int64_t i) const {
        return a.causal ? std::min(i + 1, a.keys) : a.keys;
    }
};

template <class Args, class Row> void forEachRow(const Args& args, const Row& row) {
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            for (std::int64_t i = 0; i < args.queries; ++i) {
                row(Place<Args>{args, b, h}, i);
            }
        }
    }
}

// Scores are made in pieces of this length; what was summed so far shrinks when a larger score turns up.
constexpr std::int64_t kPiece = 64;

// The unnormalised sum over the block goes to out with weights exp(score - largest); returns largest and the
// sum of the weights. `out` and `largest` come in with what they are to be added to.
template <class T, class P>
void addBlock(const typename RingAttentionForward<T>::Args& a, const P& at, std::int64_t i, Wide<T>* out,
    Wide<T>& largest, Wide<T>& total) {
    const T scale = T(1) / std::sqrt(static_cast<T>(a.headSize));
    for (std::int64_t first = 0; first < at.keys(i); first += kPiece) {
        const std::int64_t count = std::min(kPiece, at.keys(i) - first);
        T p[kPiece];
        T seen = largest;
        for (std::int64_t j = 0; j < count; ++j) {
            p[j] = scale * dot(a.q + at.q(i), a.kv + at.key(first + j), a.headSize);
            seen = std::max(seen, p[j]);
        }
        const T shrink = std::exp(largest - seen);
        largest = seen;
        total *= shrink;
        for (std::int64_t d = 0; d < a.headSize; ++d) {
            out[d] *= shrink;
        }
        for (std::int64_t j = 0; j < count; ++j) {
            p[j] = std::exp(p[j] - largest);
            total += p[j];
            addScaled(out, p[j], a.kv + at.value(first + j), a.headSize);
        }
    }
}

} // namespace

// Going on from (out, logSum) as from a block whose largest score is logSum and whose weights sum to 1 is the
// merge in its stable form.
template <class T> void RingAttentionForward<T>::host(const Args& args) {
    forEachRow(args, [&](const auto& at, std::int64_t i) {
        Wide<T>* out = args.out + at.out(i);
        Wide<T>& logSum = args.logSums[at.row(i)];
        Wide<T> largest = args.merge ? logSum : -std::numeric_limits<Wide<T>>::infinity();
        Wide<T> total = args.merge ? 1 : 0;
        if (!args.merge) {
            std::fill(out, out + args.headSize, Wide<T>(0));
        }
        if (at.keys(i) == 0) {
            logSum = args.merge ? logSum : -std::numeric_limits<Wide<T>>::infinity();
            return;
        }
        addBlock<T>(args, at, i, out, largest, total);
        for (std::int64_t d = 0; d < args.headSize; ++d) {
            out[d] /= total;
        }
        logSum = largest + std::log(total);
    });
}

template <class T> void RingAttentionBackward<T>::host(const Args& args) {
    const T scale = T(1) / std::sqrt(static_cast<T>(args.headSize));
    forEachRow(args, [&](const auto& at, std::int64_t i) {
        const T* q = args.q + at.q(i);
        const T* dout = args.dout + at.out(i);
        Wide<T>* dq = args.dq + at.out(i);
        for (std::int64_t j = 0; j < at.keys(i); ++j) {
            const T* k = args.kv + at.key(j);
            const T p = std::exp(scale * dot(q, k, args.headSize) - args.logSums[at.row(i)]);
            const T dp = dot(dout, args.kv + at.value(j), args.headSize);
            const T dscore = scale * p * (dp - args.rowSums[at.row(i)]);
            addScaled(args.dkv + at.value(j), p, dout, args.headSize);
            addScaled(dq, dscore, k, args.headSize);
            addScaled(args.dkv + at.key(j), dscore, q, args.headSize);
        }
    });
}

template <class T> void AttentionRowSums<T>::host(const Args& args) {
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            for (std::int64_t i = 0; i < args.seqLen; ++i) {
                const std::int64_t at = ((i * args.batch + b) * args.heads + h) * args.headSize;
                args.rowSums[(b * args.heads + h) * args.seqLen + i]
                    = dot(args.dout + at, args.out + at, args.headSize);
            }
        }
    }
}

template struct RingAttentionForward<float>;
template struct RingAttentionForward<double>;
template struct RingAttentionBackward<float>;
template struct RingAttentionBackward<double>;
template struct AttentionRowSums<float>;
template struct AttentionRowSums<double>;

} // namespace gdt::kernels
