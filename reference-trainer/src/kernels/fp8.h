// SPDX-License-Identifier: Apache-2.0
// Matrix products of 8-bit factors: E4M3 in the forward pass, E5M2 for gradients, each tensor with a scale of
// its own. The scale comes from the largest values of earlier steps (delayed scaling), so a tensor is read
// once, and it lives in device memory, so that a replayed step uses the one of its step.
#pragma once

#include "kernels/kernel.h"
#include "optim/step_state.h"

namespace gdt::kernels {

/// Three tensors a linear: its input, its weights, the gradient of its output.
inline constexpr std::int64_t kFp8Tensors = 3;
/// Steps whose largest values count.
inline constexpr std::int64_t kFp8History = 16;

/// What the product of an 8-bit factor is multiplied by. cuBLASLt refuses one that is not 16-byte aligned.
struct alignas(16) Fp8Inverse {
    float value = 0;
};

/// Device memory of `count` tensors.
struct Fp8Scales {
    Fp8Inverse* inverse = nullptr; ///< [count], 1 / scale
    float* scale = nullptr; ///< [count], a power of two: values are multiplied by it, then rounded
    float* amax = nullptr; ///< [count], largest magnitude of the step in progress
    float* history = nullptr; ///< [kFp8History, count], amax of earlier steps
    std::int64_t count = 0;

    [[nodiscard]] static constexpr std::int64_t floats(std::int64_t count) {
        return count * (kFloatsApart + 2 + kFp8History);
    }
    /// `memory`: floats(count), 16-byte aligned.
    static Fp8Scales in(float* memory, std::int64_t count) {
        float* rest = memory + kFloatsApart * count;
        return {reinterpret_cast<Fp8Inverse*>(memory), rest, rest + count, rest + 2 * count, count};
    }
    /// Where all of it starts.
    [[nodiscard]] float* memory() const { return &inverse->value; }
    /// From tensor `first` on.
    [[nodiscard]] Fp8Scales from(std::int64_t first) const {
        return {inverse + first, scale + first, amax + first, history + first, count};
    }

private:
    static constexpr std::int64_t kFloatsApart = sizeof(Fp8Inverse) / sizeof(float);
};

// out = x[rows, columns] * scale rounded to 8 bits, to nearest, what is too large to the largest number;
// out[columns, rows] with `transposed`. *amax becomes the largest |x| where that is larger, unless null.
template <class T> struct QuantizeFp8 {
    static constexpr const char* kName = nameOf<"quantize_fp8", T>();
    struct Args {
        const T* x;
        std::uint8_t* out;
        float* amax;
        const float* scale;
        std::int64_t rows, columns;
        bool gradient; // E5M2, else E4M3
        bool transposed;
    };
    static void host(const Args& args);
};

// c[m, n] = inverseA * inverseB * a[m, k] b[n, k]^T + beta * c (+ bias[n]): both factors have the k that is
// summed over side by side, the only form that Hopper multiplies in 8 bits.
template <class C> struct GemmFp8 {
    static constexpr const char* kName = nameOf<"gemm_fp8", C>();
    struct Args {
        const std::uint8_t* a;
        const std::uint8_t* b;
        C* c;
        const BFloat16* bias;
        const Fp8Inverse* inverseA;
        const Fp8Inverse* inverseB;
        std::int64_t m, n, k;
        float beta;
        bool gradientA; // a is E5M2, else E4M3; b is E4M3
    };
    static void host(const Args& args);
};

// Files amax under history[step % kFp8History], clears it, and makes the scales of the next step: the largest
// power of two with which the largest value of the history fits. A tensor whose history is zero or not
// finite keeps its scale.
struct UpdateFp8Scales {
    static constexpr const char* kName = "update_fp8_scales";
    struct Args {
        float* amax;
        float* scale;
        Fp8Inverse* inverse;
        float* history;
        const optim::StepState* state;
        std::int64_t count;
    };
    static void host(const Args& args);
};

// *scale = value, *inverse = 1 / value. What the host decides arrives by value and is frozen in a graph; only
// a fault uses it.
struct SetFp8Scale {
    static constexpr const char* kName = "set_fp8_scale";
    struct Args {
        float* scale;
        Fp8Inverse* inverse;
        double value;
    };
    static void host(const Args& args);
};

/// The largest numbers of E4M3 and E5M2.
inline constexpr float kMostE4M3 = 448.0F;
inline constexpr float kMostE5M2 = 57344.0F;

} // namespace gdt::kernels
