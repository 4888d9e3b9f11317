// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// Causal self-attention over qkv[seqLen * batch, 3 * heads * headSize] (queries, keys, values side by side).
// probs[batch, heads, seqLen, seqLen] keeps the softmax for the backward pass; entries above the diagonal are
// not written and not read. out[seqLen * batch, heads * headSize].
template <class T> struct AttentionForward {
    static constexpr const char* kName = nameFor<T>("attention_forward_f64", "attention_forward_f32");
    struct Args {
        const T* qkv;
        T* probs;
        T* out;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

// dqkv is overwritten. scratch[seqLen] holds one row of score gradients.
template <class T> struct AttentionBackward {
    static constexpr const char* kName = nameFor<T>("attention_backward_f64", "attention_backward_f32");
    struct Args {
        const T* qkv;
        const T* probs;
        const T* dout;
        T* dqkv;
        T* scratch;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
