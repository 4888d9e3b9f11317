// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include "kernels/number.h"

#include <cmath>

namespace gdt::kernels {

template <class T> void LayerNormForward<T>::host(const Args& args) {
    using W = Wide<T>;
    const W n = static_cast<W>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        W sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            sum += widen(x[i]);
        }
        const W mean = sum / n;
        W squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            squares += (widen(x[i]) - mean) * (widen(x[i]) - mean);
        }
        const W rstd = W(1) / std::sqrt(squares / n + args.epsilon);
        T* out = args.out + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            out[i] = narrow<T>((widen(x[i]) - mean) * rstd * widen(args.gain[i]) + widen(args.bias[i]));
        }
        args.mean[r] = mean;
        args.rstd[r] = rstd;
    }
}

template <class T> void LayerNormBackward<T>::host(const Args& args) {
    using W = Wide<T>;
    const W n = static_cast<W>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        const T* dout = args.dout + r * args.hidden;
        const W mean = args.mean[r];
        const W rstd = args.rstd[r];
        W sum = 0;
        W sumHat = 0;
#pragma omp simd reduction(+ : sum, sumHat)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const W dhat = widen(dout[i]) * widen(args.gain[i]);
            sum += dhat;
            sumHat += dhat * (widen(x[i]) - mean) * rstd;
        }
        T* dx = args.dx + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const W hat = (widen(x[i]) - mean) * rstd;
            const W d = widen(dout[i]);
            const W change = rstd * (d * widen(args.gain[i]) - sum / n - hat * sumHat / n);
            dx[i] = narrow<T>(widen(dx[i]) + change);
            args.dgain[i] += d * hat;
            args.dbias[i] += d;
        }
    }
}

template <class T> void RmsNormForward<T>::host(const Args& args) {
    using W = Wide<T>;
    const W n = static_cast<W>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        W squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            squares += widen(x[i]) * widen(x[i]);
        }
        const W rstd = W(1) / std::sqrt(squares / n + args.epsilon);
        T* out = args.out + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            out[i] = narrow<T>(widen(x[i]) * rstd * widen(args.gain[i]));
        }
        args.rstd[r] = rstd;
    }
}

template <class T> void RmsNormBackward<T>::host(const Args& args) {
    using W = Wide<T>;
    const W n = static_cast<W>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        const T* dout = args.dout + r * args.hidden;
        const W rstd = args.rstd[r];
        W sumHat = 0;
#pragma omp simd reduction(+ : sumHat)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            sumHat += widen(dout[i]) * widen(args.gain[i]) * widen(x[i]) * rstd;
        }
        T* dx = args.dx + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const W hat = widen(x[i]) * rstd;
            const W d = widen(dout[i]);
            dx[i] = narrow<T>(widen(dx[i]) + rstd * (d * widen(args.gain[i]) - hat * sumHat / n));
            args.dgain[i] += d * hat;
        }
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct LayerNormForward<T>;                                                                     \
    template struct LayerNormBackward<T>;                                                                    \
    template struct RmsNormForward<T>;                                                                       \
    template struct RmsNormBackward<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
