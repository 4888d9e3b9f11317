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
    static constexpr const char* kName
        = nameFor<T>("bias_dropout_add_f64", "bias_dropout_add_f32", "bias_dropout_add_bf16");
    static constexpr bool kOnHost = onHost<T>;
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

// dbranch = keep(dout) / (1 - rate), with the mask of the forward pass.
template <class T> struct DropoutBackward {
    static constexpr const char* kName
        = nameFor<T>("dropout_backward_f64", "dropout_backward_f32", "dropout_backward_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* dout;
        T* dbranch;
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
