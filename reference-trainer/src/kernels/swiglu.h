// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// x[rows, 2 * width] holds gates, then the values they let through: out[rows, width] = silu(gate) * value
// with silu(x) = x / (1 + exp(-x)).
template <class T> struct SwigluForward {
    static constexpr const char* kName = nameOf<"swiglu_forward", T>();
    struct Args {
        const T* x;
        T* out;
        std::int64_t rows, width;
    };
    static void host(const Args& args);
};

// dx[rows, 2 * width] from dout[rows, width].
template <class T> struct SwigluBackward {
    static constexpr const char* kName = nameOf<"swiglu_backward", T>();
    struct Args {
        const T* x;
        const T* dout;
        T* dx;
        std::int64_t rows, width;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
