// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include "kernels/rng.h"

#include <algorithm>
#include <cmath>

namespace gdt::kernels {

namespace {

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

// tanh through one exponential: std::tanh costs three times as much here and GELU is a fifth of a step. For
// |x| > 30 the quotient is exactly 1 in double, and exp never overflows.
template <class T> T fastTanh(T x) {
    const T bounded = x > T(30) ? T(30) : (x < T(-30) ? T(-30) : x);
    return T(1) - T(2) / (std::exp(T(2) * bounded) + T(1));
}

} // namespace

template <class T> void GeluForward<T>::host(const Args& args) {
    for (std::int64_t i = 0; i < args.count; ++i) {
        const T x = args.x[i];
        const T inner = T(kSqrt2OverPi) * (x + T(kCubic) * x * x * x);
        args.out[i] = T(0.5) * x * (T(1) + fastTanh(inner));
    }
}

template <class T> void GeluBackward<T>::host(const Args& args) {
    for (std::int64_t i = 0; i < args.count; ++i) {
        const T x = args.x[i];
        const T t = fastTanh(T(kSqrt2OverPi) * (x + T(kCubic) * x * x * x));
        const T inner = T(kSqrt2OverPi) * (T(1) + T(3 * kCubic) * x * x);
        args.dx[i] = args.dout[i] * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner);
    }
}

template <class T> void ResidualAdd<T>::host(const Args& args) {
    for (std::int64_t i = 0; i < args.count; ++i) {
        args.out[i] = args.a[i] + args.b[i];
    }
}

template <class T> void BiasBackward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* dy = args.dy + r * args.columns;
        for (std::int64_t j = 0; j < args.columns; ++j) {
            args.dbias[j] += dy[j];
        }
    }
}

template <class T> void RoundValues<T>::host(const Args& args) {
    std::copy(args.x, args.x + args.count, args.out);
}

template <class T> void InitNormal<T>::host(const Args& args) {
    for (std::int64_t i = 0; i < args.count; ++i) {
        const std::int64_t offset
            = args.columns == 0 ? i : i / args.columns * args.globalColumns + i % args.columns;
        const std::uint64_t index = args.firstIndex + static_cast<std::uint64_t>(offset);
        args.values[i]
            = static_cast<T>(args.mean + args.deviation * randomNormal(args.seed, args.parameter, index));
    }
}

template struct GeluForward<float>;
template struct GeluForward<double>;
template struct GeluBackward<float>;
template struct GeluBackward<double>;
template struct ResidualAdd<float>;
template struct ResidualAdd<double>;
template struct BiasBackward<float>;
template struct BiasBackward<double>;
template struct RoundValues<float>;
template struct RoundValues<double>;
template struct InitNormal<float>;
template struct InitNormal<double>;

} // namespace gdt::kernels
