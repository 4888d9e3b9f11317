// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// Causal self-attention over qkv[seqLen * batch, 3 * heads * headSize] (queries, keys, values side by side).
// out[seqLen * batch, heads * headSize]. logSums[batch, heads, seqLen] keeps log(sum of exp) of each row of
// scores for the backward pass, which computes the softmax again: no seqLen x seqLen matrix exists. With
// dropout the probabilities that it keeps count 1 / (1 - dropout) times; logSums do not know of it.
template <class T> struct AttentionForward {
    static constexpr const char* kName = nameOf<"attention_forward", T>();
    struct Args {
        const T* qkv;
        T* out;
        Wide<T>* logSums;
        std::int64_t seqLen, batch, heads, headSize;
        // Dropout of the probabilities, kernels/attention_mask.h.
        double dropout = 0;
        std::uint64_t seed = 0, stream = 0;
        const std::int64_t* firstSample = nullptr;
        std::int64_t firstHead = 0, allHeads = 0, wholeLen = 0;
    };
    static void host(const Args& args);
};

// The same for short sequences, as libraries choose it on the host by the length; logSums are zero before.
template <class T> struct ShortAttentionForward {
    static constexpr const char* kName = nameOf<"short_attention_forward", T>();
    using Args = typename AttentionForward<T>::Args;
    static void host(const Args& args) { AttentionForward<T>::host(args); }
};

// dqkv is overwritten. scratch[batch, heads, seqLen] holds the sum of dout * out of each row.
template <class T> struct AttentionBackward {
    static constexpr const char* kName = nameOf<"attention_backward", T>();
    struct Args {
        const T* qkv;
        const T* out;
        const Wide<T>* logSums;
        const T* dout;
        T* dqkv;
        Wide<T>* scratch;
        std::int64_t seqLen, batch, heads, headSize;
        // Dropout of the probabilities, kernels/attention_mask.h.
        double dropout = 0;
        std::uint64_t seed = 0, stream = 0;
        const std::int64_t* firstSample = nullptr;
        std::int64_t firstHead = 0, allHeads = 0, wholeLen = 0;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
