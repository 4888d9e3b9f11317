// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c (+ bias[n] on every row when bias is not null).
// OpenBLAS where it was found at configure time, on one thread whatever the environment says: several ranks
// and streams share the cores of a machine, and the order of additions must not depend on a thread count.
// C is the type of c; gradients of parameters are wider than what they are made from.
template <class T, class C = T> struct Gemm {
    static_assert(std::is_same_v<C, T> || std::is_same_v<C, Wide<T>>);
    static constexpr const char* kName = std::is_same_v<C, T> ? nameOf<"gemm", T>() : nameOf<"gemm", T, C>();
    struct Args {
        const T* a;
        const T* b;
        C* c;
        const T* bias;
        std::int64_t m, n, k;
        std::int64_t lda, ldb, ldc;
        Wide<T> alpha, beta;
        bool transposeA, transposeB;
    };
    static void host(const Args& args);
};

// y[rows,out] = x[rows,in] * w[out,in]^T + bias: weights are stored one output after another.
template <class T>
typename Gemm<T>::Args linearForward(
    const T* x, const T* w, const T* bias, T* y, std::int64_t rows, std::int64_t in, std::int64_t out) {
    return {x, w, y, bias, rows, out, in, in, in, out, Wide<T>(1), Wide<T>(0), false, true};
}

// dx[rows,in] = dy[rows,out] * w[out,in].
template <class T>
typename Gemm<T>::Args linearBackwardInput(
    const T* dy, const T* w, T* dx, std::int64_t rows, std::int64_t in, std::int64_t out) {
    return {dy, w, dx, nullptr, rows, in, out, out, in, in, Wide<T>(1), Wide<T>(0), false, false};
}

// dw[out,in] += dy[rows,out]^T * x[rows,in]: gradients accumulate over the micro-batches of a step.
template <class T>
typename Gemm<T, Wide<T>>::Args linearBackwardWeight(
    const T* dy, const T* x, Wide<T>* dw, std::int64_t rows, std::int64_t in, std::int64_t out) {
    return {dy, x, dw, nullptr, out, in, rows, out, in, in, Wide<T>(1), Wide<T>(1), true, false};
}

} // namespace gdt::kernels
