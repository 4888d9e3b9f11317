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

// Offsets of one (sample, head) inside qkv and the output; a position further is one rowStep further.
struct HeadView {
    std::int64_t q, k, v, rowStep;
    std::int64_t out, outStep;
    std::int64_t probs;
};

template <class Args> HeadView viewOf(const Args& a, std::int64_t sample, std::int64_t head) {
    const std::int64_t hidden = a.heads * a.headSize;
    const std::int64_t q = sample * 3 * hidden + head * a.headSize;
    return {q, q + hidden, q + 2 * hidden, a.batch * 3 * hidden, sample * hidden + head * a.headSize,
        a.batch * hidden, (sample * a.heads + head) * a.seqLen * a.seqLen};
}

template <class T> void forwardHead(const typename AttentionForward<T>::Args& a, const HeadView& view) {
    const T scale = T(1) / std::sqrt(static_cast<T>(a.headSize));
    for (std::int64_t i = 0; i < a.seqLen; ++i) {
        T* p = a.probs + view.probs + i * a.seqLen;
        const T* q = a.qkv + view.q + i * view.rowStep;
        T largest = -std::numeric_limits<T>::infinity();
        for (std::int64_t j = 0; j <= i; ++j) {
            p[j] = scale * dot(q, a.qkv + view.k + j * view.rowStep, a.headSize);
            largest = std::max(largest, p[j]);
        }
        T total = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
            p[j] = std::exp(p[j] - largest);
            total += p[j];
        }
        T* out = a.out + view.out + i * view.outStep;
        std::fill(out, out + a.headSize, T(0));
        for (std::int64_t j = 0; j <= i; ++j) {
            p[j] /= total;
            addScaled(out, p[j], a.qkv + view.v + j * view.rowStep, a.headSize);
        }
    }
}

template <class T> void backwardHead(const typename AttentionBackward<T>::Args& a, const HeadView& view) {
    const T scale = T(1) / std::sqrt(static_cast<T>(a.headSize));
    for (std::int64_t i = 0; i < a.seqLen; ++i) {
        const T* p = a.probs + view.probs + i * a.seqLen;
        const T* dout = a.dout + view.out + i * view.outStep;
        T weighted = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
            a.scratch[j] = dot(dout, a.qkv + view.v + j * view.rowStep, a.headSize);
            weighted += p[j] * a.scratch[j];
            addScaled(a.dqkv + view.v + j * view.rowStep, p[j], dout, a.headSize);
        }
        const T* q = a.qkv + view.q + i * view.rowStep;
        T* dq = a.dqkv + view.q + i * view.rowStep;
        for (std::int64_t j = 0; j <= i; ++j) {
            const T dscore = scale * p[j] * (a.scratch[j] - weighted);
            addScaled(dq, dscore, a.qkv + view.k + j * view.rowStep, a.headSize);
            addScaled(a.dqkv + view.k + j * view.rowStep, dscore, q, a.headSize);
        }
    }
}

} // namespace

template <class T> void AttentionForward<T>::host(const Args& args) {
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            forwardHead<T>(args, viewOf(args, b, h));
        }
    }
}

template <class T> void AttentionBackward<T>::host(const Args& args) {
    const std::int64_t size = args.seqLen * args.batch * 3 * args.heads * args.headSize;
    std::fill(args.dqkv, args.dqkv + size, T(0));
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            backwardHead<T>(args, viewOf(args, b, h));
        }
    }
}

template struct AttentionForward<float>;
template struct AttentionForward<double>;
template struct AttentionBackward<float>;
template struct AttentionBackward<double>;

} // namespace gdt::kernels
