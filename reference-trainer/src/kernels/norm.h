// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// Layer norm over the last dimension: out = (x - mean) * rstd * gain + bias, the variance is the biased one.
// mean[rows] and rstd[rows] are kept for the backward pass.
template <class T> struct LayerNormForward {
    static constexpr const char* kName = nameOf<"layer_norm_forward", T>();
    struct Args {
        const T* x;
        const T* gain;
        const T* bias;
        T* out;
        Wide<T>* mean;
        Wide<T>* rstd;
        std::int64_t rows, hidden;
        Wide<T> epsilon;
    };
    static void host(const Args& args);
};

// dx += gradient: the residual branch has already left its share there. dgain and dbias accumulate.
template <class T> struct LayerNormBackward {
    static constexpr const char* kName = nameOf<"layer_norm_backward", T>();
    struct Args {
        const T* x;
        const T* gain;
        const Wide<T>* mean;
        const Wide<T>* rstd;
        const T* dout;
        T* dx;
        Wide<T>* dgain;
        Wide<T>* dbias;
        std::int64_t rows, hidden;
    };
    static void host(const Args& args);
};

// Root-mean-square norm: out = x * rstd * gain with rstd = 1 / sqrt(mean(x^2) + epsilon).
template <class T> struct RmsNormForward {
    static constexpr const char* kName = nameOf<"rms_norm_forward", T>();
    struct Args {
        const T* x;
        const T* gain;
        T* out;
        Wide<T>* rstd;
        std::int64_t rows, hidden;
        Wide<T> epsilon;
    };
    static void host(const Args& args);
};

// dx += gradient, dgain accumulates, as for the layer norm.
template <class T> struct RmsNormBackward {
    static constexpr const char* kName = nameOf<"rms_norm_backward", T>();
    struct Args {
        const T* x;
        const T* gain;
        const Wide<T>* rstd;
        const T* dout;
        T* dx;
        Wide<T>* dgain;
        std::int64_t rows, hidden;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
