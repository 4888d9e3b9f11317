// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// out = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the tanh form of GPT-2.
template <class T> struct GeluForward {
    static constexpr const char* kName = nameOf<"gelu_forward", T>();
    struct Args {
        const T* x;
        T* out;
        std::int64_t count;
    };
    static void host(const Args& args);
};

// dx = dout * gelu'(x); dx may be dout.
template <class T> struct GeluBackward {
    static constexpr const char* kName = nameOf<"gelu_backward", T>();
    struct Args {
        const T* x;
        const T* dout;
        T* dx;
        std::int64_t count;
    };
    static void host(const Args& args);
};

// out = a + b.
template <class T> struct ResidualAdd {
    static constexpr const char* kName = nameOf<"residual_add", T>();
    struct Args {
        const T* a;
        const T* b;
        T* out;
        std::int64_t count;
    };
    static void host(const Args& args);
};

// dbias[j] += sum over rows of dy[row,j], rows in order.
template <class T> struct BiasBackward {
    static constexpr const char* kName = nameOf<"bias_backward", T>();
    struct Args {
        const T* dy;
        Wide<T>* dbias;
        std::int64_t rows, columns;
    };
    static void host(const Args& args);
};

// out[i] = x[i], rounded to nearest where T is the narrower type.
template <class T> struct RoundValues {
    static constexpr const char* kName = nameOf<"round_values", T>();
    struct Args {
        const Wide<T>* x;
        T* out;
        std::int64_t count;
    };
    static void host(const Args& args);
};

// values[i] = mean + deviation * normal(seed, parameter, firstIndex + i): the element's *global* index is the
// counter, so a shard of a parameter gets exactly the numbers of its part of the whole.
template <class T> struct InitNormal {
    static constexpr const char* kName = nameOf<"init_normal", T>();
    struct Args {
        T* values;
        std::int64_t count;
        std::uint64_t seed, parameter, firstIndex;
        double mean, deviation;
        std::int64_t columns = 0, globalColumns = 0; // a shard of `columns` of the matrix's globalColumns
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
