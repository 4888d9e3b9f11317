// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

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

// Offsets of one (sample, head) inside qkv, the output and the row statistics; a position further is one
// rowStep or outStep further, or the next statistic.
struct HeadView {
    std::int64_t q, k, v, rowStep;
    std::int64_t out, outStep;
    std::int64_t row;
};

template <class Args> HeadView viewOf(const Args& a, std::int64_t sample, std::int64_t head) {
    const std::int64_t hidden = a.heads * a.headSize;
    const std::int64_t q = sample * 3 * hidden + head * a.headSize;
    return {q, q + hidden, q + 2 * hidden, a.batch * 3 * hidden, sample * hidden + head * a.headSize,
        a.batch * hidden, (sample * a.heads + head) * a.seqLen};
}

// Scores are made in pieces of this length; a row's output is scaled down when a larger score turns up.
constexpr std::int64_t kPiece = 64;

template <class T>
void forwardRow(const typename AttentionForward<T>::Args& a, const HeadView& view, std::int64_t i) {
    const T scale = T(1) / std::sqrt(static_cast<T>(a.headSize));
    const T* q = a.qkv + view.q + i * view.rowStep;
    T* out = a.out + view.out + i * view.outStep;
    std::fill(out, out + a.headSize, T(0));
    T largest = -std::numeric_limits<T>::infinity();
    T total = 0;
    for (std::int64_t first = 0; first <= i; first += kPiece) {
        const std::int64_t count = std::min(kPiece, i + 1 - first);
        T p[kPiece];
        T seen = largest;
        for (std::int64_t j = 0; j < count; ++j) {
            p[j] = scale * dot(q, a.qkv + view.k + (first + j) * view.rowStep, a.headSize);
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
            addScaled(out, p[j], a.qkv + view.v + (first + j) * view.rowStep, a.headSize);
        }
    }
    for (std::int64_t d = 0; d < a.headSize; ++d) {
        out[d] /= total;
    }
    a.logSums[view.row + i] = largest + std::log(total);
}

template <class T>
void backwardRow(const typename AttentionBackward<T>::Args& a, const HeadView& view, std::int64_t i) {
    const T scale = T(1) / std::sqrt(static_cast<T>(a.headSize));
    const T* dout = a.dout + view.out + i * view.outStep;
    const T* q = a.qkv + view.q + i * view.rowStep;
    T* dq = a.dqkv + view.q + i * view.rowStep;
    const T weighted = dot(dout, a.out + view.out + i * view.outStep, a.headSize);
    a.scratch[view.row + i] = weighted;
    for (std::int64_t j = 0; j <= i; ++j) {
        const T* k = a.qkv + view.k + j * view.rowStep;
        const T p = std::exp(scale * dot(q, k, a.headSize) - a.logSums[view.row + i]);
        const T dp = dot(dout, a.qkv + view.v + j * view.rowStep, a.headSize);
        const T dscore = scale * p * (dp - weighted);
        addScaled(a.dqkv + view.v + j * view.rowStep, p, dout, a.headSize);
        addScaled(dq, dscore, k, a.headSize);
        addScaled(a.dqkv + view.k + j * view.rowStep, dscore, q, a.headSize);
    }
}

// Calls `row(view, i)` for every query of every sample and head.
template <class Args, class Row> void forEachRow(const Args& args, const Row& row) {
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            const HeadView view = viewOf(args, b, h);
            for (std::int64_t i = 0; i < args.seqLen; ++i) {
                row(view, i);
            }
        }
    }
}

} // namespace

template <class T> void AttentionForward<T>::host(const Args& args) {
    forEachRow(args, [&](const HeadView& view, std::int64_t i) { forwardRow<T>(args, view, i); });
}

template <class T> void AttentionBackward<T>::host(const Args& args) {
    const std::int64_t size = args.seqLen * args.batch * 3 * args.heads * args.headSize;
    std::fill(args.dqkv, args.dqkv + size, T(0));
    forEachRow(args, [&](const HeadView& view, std::int64_t i) { backwardRow<T>(args, view, i); });
}

template struct AttentionForward<float>;
template struct AttentionForward<double>;
template struct AttentionBackward<float>;
template struct AttentionBackward<double>;

} // namespace gdt::kernels
