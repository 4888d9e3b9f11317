// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#include "kernels/number.h"

#include <vector>

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

// The matrix of `rows` rows, widened, with the leading dimension it has.
template <class T>
std::vector<float> widened(const T* values, std::int64_t rows, std::int64_t leading, std::int64_t columns) {
    std::vector<float> wide(static_cast<std::size_t>((rows - 1) * leading + columns));
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            wide[static_cast<std::size_t>(r * leading + c)] = widen(values[r * leading + c]);
        }
    }
    return wide;
}

template <class W, class B>
void addBias(W* c, const B* bias, std::int64_t m, std::int64_t n, std::int64_t ldc) {
    for (std::int64_t i = 0; bias != nullptr && i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            c[i * ldc + j] += widen(bias[j]);
        }
    }
}

// As tensor cores do it: narrow factors, sums in float, one rounding at the end.
template <class T, class C> void multiplyNarrow(const typename Gemm<T, C>::Args& g) {
    const std::vector<float> a = widened(g.a, g.transposeA ? g.k : g.m, g.lda, g.transposeA ? g.m : g.k);
    const std::vector<float> b = widened(g.b, g.transposeB ? g.n : g.k, g.ldb, g.transposeB ? g.k : g.n);
    std::vector<float> c;
    if (g.beta != 0 || std::is_same_v<C, float>) {
        c = widened(g.c, g.m, g.ldc, g.n);
    } else {
        c.resize(static_cast<std::size_t>((g.m - 1) * g.ldc + g.n));
    }
    multiply<float>({a.data(), b.data(), c.data(), nullptr, g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.alpha,
        g.beta, g.transposeA, g.transposeB});
    addBias(c.data(), g.bias, g.m, g.n, g.ldc);
    for (std::int64_t i = 0; i < g.m; ++i) {
        for (std::int64_t j = 0; j < g.n; ++j) {
            g.c[i * g.ldc + j] = narrow<C>(c[static_cast<std::size_t>(i * g.ldc + j)]);
        }
    }
}

} // namespace

template <class T, class C> void Gemm<T, C>::host(const Args& args) {
    if constexpr (isNarrow<T>) {
        multiplyNarrow<T, C>(args);
    } else {
        multiply<T>(args);
        addBias(args.c, args.bias, args.m, args.n, args.ldc);
    }
}

template struct Gemm<float>;
template struct Gemm<double>;
template struct Gemm<BFloat16>;
template struct Gemm<Float16>;
template struct Gemm<BFloat16, float>;
template struct Gemm<Float16, float>;

} // namespace gdt::kernels
