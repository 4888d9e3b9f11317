// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// The end of a residual branch: out = residual + keep(branch + bias) / (1 - rate). bias may be null; with
// rate 0 nothing is dropped. Whether an element is kept is a random number of (seed, stream, global element):
// element ((firstSample + b) * seqLen + position) * columns + c, with `stream` naming layer and branch. So
// every layout over ranks drops the same elements, and a replay of a graph, which reads *firstSample, others
// than the replay before. Row r of the buffers is row firstRow + r of this rank's part of the sequence.
template <class T> struct BiasDropoutAdd {
    static constexpr const char* kName = nameOf<"bias_dropout_add", T>();
    struct Args {
        const T* residual;
        const T* branch;
        const T* bias;
        T* out;
        const std::int64_t* firstSample;
        std::int64_t rows, columns, batch, firstRow;
        std::int64_t seqLen; // of the whole sequence
        std::int64_t chunk, first0, first1; // kernels/sequence_shard.h
        std::uint64_t seed, stream;
        double rate;
    };
    static void host(const Args& args);
};

// out = keep(x) / (1 - rate), and so its own backward pass; out may be x.
template <class T> struct Dropout {
    static constexpr const char* kName = nameOf<"dropout", T>();
    struct Args {
        const T* x;
        T* out;
        const std::int64_t* firstSample;
        std::int64_t rows, columns, batch, firstRow;
        std::int64_t seqLen;
        std::int64_t chunk, first0, first1;
        std::uint64_t seed, stream;
        double rate;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
