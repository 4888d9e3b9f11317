// SPDX-License-Identifier: Apache-2.0
#include "kernels/fp8.h"

#include "kernels/gemm.h"
#include "kernels/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace gdt::kernels {

namespace {

std::array<float, 256> valuesOf(const SmallFormat& format) {
    std::array<float, 256> values{};
    for (std::uint32_t pattern = 0; pattern < values.size(); ++pattern) {
        values[pattern] = decode(pattern, format);
    }
    return values;
}

// By the bits of numbers without a sign, as on a GPU: what is not a number is larger than all that are.
float larger(float most, float value) {
    const auto bits = std::bit_cast<std::int32_t>(std::abs(value));
    return std::bit_cast<float>(std::max(std::bit_cast<std::int32_t>(most), bits));
}

std::vector<float> decoded(const std::uint8_t* bytes, std::int64_t count, bool gradient) {
    static const std::array<float, 256> forward = valuesOf(kE4M3);
    static const std::array<float, 256> backward = valuesOf(kE5M2);
    const std::array<float, 256>& table = gradient ? backward : forward;
    std::vector<float> values(static_cast<std::size_t>(count));
    std::transform(bytes, bytes + count, values.begin(), [&](std::uint8_t b) { return table[b]; });
    return values;
}

} // namespace

template <class T> void QuantizeFp8<T>::host(const Args& args) {
    const SmallFormat& format = args.gradient ? kE5M2 : kE4M3;
    const float scale = *args.scale;
    float most = 0;
    for (std::int64_t r = 0; r < args.rows; ++r) {
        for (std::int64_t c = 0; c < args.columns; ++c) {
            const float value = static_cast<float>(widen(args.x[r * args.columns + c]));
            most = larger(most, value);
            const std::int64_t at = args.transposed ? c * args.rows + r : r * args.columns + c;
            args.out[at] = static_cast<std::uint8_t>(encode(value * scale, format, true));
        }
    }
    if (args.amax != nullptr) {
        *args.amax = larger(*args.amax, most);
    }
}

template <class C> void GemmFp8<C>::host(const Args& args) {
    const std::vector<float> a = decoded(args.a, args.m * args.k, args.gradientA);
    const std::vector<float> b = decoded(args.b, args.n * args.k, false);
    std::vector<float> c(static_cast<std::size_t>(args.m * args.n));
    if (args.beta != 0) {
        std::transform(args.c, args.c + args.m * args.n, c.begin(), [](C v) { return widen(v); });
    }
    Gemm<float>::host({a.data(), b.data(), c.data(), nullptr, args.m, args.n, args.k, args.k, args.k, args.n,
        args.inverseA->value * args.inverseB->value, args.beta, false, true});
    for (std::int64_t i = 0; i < args.m; ++i) {
        for (std::int64_t j = 0; j < args.n; ++j) {
            const float bias = args.bias != nullptr ? widen(args.bias[j]) : 0.0F;
            args.c[i * args.n + j] = narrow<C>(c[static_cast<std::size_t>(i * args.n + j)] + bias);
        }
    }
}

void UpdateFp8Scales::host(const Args& args) {
    float* now = args.history + args.state->step % kFp8History * args.count;
    for (std::int64_t i = 0; i < args.count; ++i) {
        now[i] = args.amax[i];
        args.amax[i] = 0;
        float most = 0;
        for (std::int64_t s = 0; s < kFp8History; ++s) {
            most = larger(most, args.history[s * args.count + i]);
        }
        if (most > 0 && std::isfinite(most)) {
            const float largest = i % kFp8Tensors == 2 ? kMostE5M2 : kMostE4M3;
            args.scale[i] = std::ldexp(1.0F, std::clamp(std::ilogb(largest / most), -100, 100));
            args.inverse[i].value = 1.0F / args.scale[i];
        }
    }
}

void SetFp8Scale::host(const Args& args) {
    *args.scale = static_cast<float>(args.value);
    args.inverse->value = 1.0F / *args.scale;
}

template struct QuantizeFp8<BFloat16>;
template struct GemmFp8<BFloat16>;
template struct GemmFp8<float>;

} // namespace gdt::kernels
