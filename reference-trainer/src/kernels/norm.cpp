// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include <cmath>

namespace gdt::kernels {

template <class T> void LayerNormForward<T>::host(const Args& args) {
    const T n = static_cast<T>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            sum += x[i];
        }
        const T mean = sum / n;
        T squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            squares += (x[i] - mean) * (x[i] - mean);
        }
        const T rstd = T(1) / std::sqrt(squares / n + args.epsilon);
        T* out = args.out + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            out[i] = (x[i] - mean) * rstd * args.gain[i] + args.bias[i];
        }
        args.mean[r] = mean;
        args.rstd[r] = rstd;
    }
}

template <class T> void LayerNormBackward<T>::host(const Args& args) {
    const T n = static_cast<T>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        const T* dout = args.dout + r * args.hidden;
        const T mean = args.mean[r];
        const T rstd = args.rstd[r];
        T sum = 0;
        T sumHat = 0;
#pragma omp simd reduction(+ : sum, sumHat)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const T dhat = dout[i] * args.gain[i];
            sum += dhat;
            sumHat += dhat * (x[i] - mean) * rstd;
        }
        T* dx = args.dx + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const T hat = (x[i] - mean) * rstd;
            dx[i] += rstd * (dout[i] * args.gain[i] - sum / n - hat * sumHat / n);
            args.dgain[i] += dout[i] * hat;
            args.dbias[i] += dout[i];
        }
    }
}

template <class T> void RmsNormForward<T>::host(const Args& args) {
    const T n = static_cast<T>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        T squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            squares += x[i] * x[i];
        }
        const T rstd = T(1) / std::sqrt(squares / n + args.epsilon);
        T* out = args.out + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            out[i] = x[i] * rstd * args.gain[i];
        }
        args.rstd[r] = rstd;
    }
}

template <class T> void RmsNormBackward<T>::host(const Args& args) {
    const T n = static_cast<T>(args.hidden);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* x = args.x + r * args.hidden;
        const T* dout = args.dout + r * args.hidden;
        const T rstd = args.rstd[r];
        T sumHat = 0;
#pragma omp simd reduction(+ : sumHat)
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            sumHat += dout[i] * args.gain[i] * x[i] * rstd;
        }
        T* dx = args.dx + r * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            const T hat = x[i] * rstd;
            dx[i] += rstd * (dout[i] * args.gain[i] - hat * sumHat / n);
            args.dgain[i] += dout[i] * hat;
        }
    }
}

template struct LayerNormForward<float>;
template struct LayerNormForward<double>;
template struct LayerNormBackward<float>;
template struct LayerNormBackward<double>;
template struct RmsNormForward<float>;
template struct RmsNormForward<double>;
template struct RmsNormBackward<float>;
template struct RmsNormBackward<double>;

} // namespace gdt::kernels
