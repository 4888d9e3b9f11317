// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// Causal self-attention over qkv[seqLen * batch, 3 * heads * headSize] (queries, keys, values side by side).
// out[seqLen * batch, heads * headSize]. logSums[batch, heads, seqLen] keeps log(sum of exp) of each row of
// scores for the backward pass, which computes the softmax again: no seqLen x seqLen matrix exists.
template <class T> struct AttentionForward {
    static constexpr const char* kName
        = nameFor<T>("attention_forward_f64", "attention_forward_f32", "attention_forward_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* qkv;
        T* out;
        Wide<T>* logSums;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

// dqkv is overwritten. scratch[batch, heads, seqLen] holds the sum of dout * out of each row.
template <class T> struct AttentionBackward {
    static constexpr const char* kName
        = nameFor<T>("attention_backward_f64", "attention_backward_f32", "attention_backward_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* qkv;
        const T* out;
        const Wide<T>* logSums;
        const T* dout;
        T* dqkv;
        Wide<T>* scratch;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
