// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// to[r * toStep + c] = from[r * fromStep + c] for c < columns: part of the columns of a matrix.
template <class T> struct CopyColumns {
    static constexpr const char* kName = nameOf<"copy_columns", T>();
    struct Args {
        const T* from;
        T* to;
        std::int64_t rows, columns, fromStep, toStep;
    };
    static void host(const Args& args);
};

// The same from the wide type, rounded to nearest where T is narrower.
template <class T> struct RoundColumns {
    static constexpr const char* kName = nameOf<"round_columns", T>();
    struct Args {
        const Wide<T>* from;
        T* to;
        std::int64_t rows, columns, fromStep, toStep;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
