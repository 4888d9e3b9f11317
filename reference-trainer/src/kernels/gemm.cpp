// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#if GDT_OPENBLAS
#include <cblas.h>
#endif

namespace gdt::kernels {

namespace {

#if GDT_OPENBLAS

blasint dim(std::int64_t v) {
    return static_cast<blasint>(v);
}
CBLAS_TRANSPOSE op(bool transpose) {
    return transpose ? CblasTrans : CblasNoTrans;
}

template <class T> void multiply(const typename Gemm<T>::Args& g) {
    static const bool oneThread = (openblas_set_num_threads(1), true);
    (void)oneThread;
    if constexpr (std::is_same_v<T, double>) {
        cblas_dgemm(CblasRowMajor, op(g.transposeA), op(g.transposeB), dim(g.m), dim(g.n), dim(g.k), g.alpha,
            g.a, dim(g.lda), g.b, dim(g.ldb), g.beta, g.c, dim(g.ldc));
    } else {
        cblas_sgemm(CblasRowMajor, op(g.transposeA), op(g.transposeB), dim(g.m), dim(g.n), dim(g.k), g.alpha,
            g.a, dim(g.lda), g.b, dim(g.ldb), g.beta, g.c, dim(g.ldc));
    }
}

#else

// Row of a times matrix b, the inner loop over contiguous columns of c. op(b) transposed reads b by columns,
// which is slow but right; machines without OpenBLAS run the small default model in acceptable time.
template <class T> void multiply(const typename Gemm<T>::Args& g) {
    for (std::int64_t i = 0; i < g.m; ++i) {
        T* c = g.c + i * g.ldc;
        for (std::int64_t j = 0; j < g.n; ++j) {
            c[j] = g.beta == T(0) ? T(0) : g.beta * c[j];
        }
        for (std::int64_t l = 0; l < g.k; ++l) {
            const T a = g.alpha * (g.transposeA ? g.a[l * g.lda + i] : g.a[i * g.lda + l]);
            for (std::int64_t j = 0; j < g.n; ++j) {
                c[j] += a * (g.transposeB ? g.b[j * g.ldb + l] : g.b[l * g.ldb + j]);
            }
        }
    }
}

#endif

} // namespace

template <class T, class C> void Gemm<T, C>::host(const Args& args) {
    multiply<T>(args);
    if (args.bias == nullptr) {
        return;
    }
    for (std::int64_t i = 0; i < args.m; ++i) {
        T* c = args.c + i * args.ldc;
        for (std::int64_t j = 0; j < args.n; ++j) {
            c[j] += args.bias[j];
        }
    }
}

template struct Gemm<float>;
template struct Gemm<double>;

} // namespace gdt::kernels
