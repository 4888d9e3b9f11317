// SPDX-License-Identifier: Apache-2.0
// One step of ring attention: local queries against the keys and values of one rank.
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// q[queries * batch, ...] with qStep elements from row to row; kv[keys * batch, 2 * heads * headSize], keys
// then values of a row. causal: query i sees keys j <= i. out[queries * batch, heads * headSize] holds the
// attention over all keys so far and logSums[batch, heads, ...] (logSumsStep entries a head, the pointer
// already at the first query) the log of their sums of exp; with `merge` the new keys join them in the stable
// form out += sigmoid(new - old) * (block - out), else both start here.
template <class T> struct RingAttentionForward {
    static constexpr const char* kName = nameFor<T>(
        "ring_attention_forward_f64", "ring_attention_forward_f32", "ring_attention_forward_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* q;
        const T* kv;
        Wide<T>* out;
        Wide<T>* logSums;
        std::int64_t queries, keys, batch, heads, headSize, qStep, logSumsStep;
        bool causal, merge;
    };
    static void host(const Args& args);
};

// Adds this block's part to dq[queries * batch, heads * headSize] and dkv[keys * batch, 2 * heads *
// headSize]. logSums are the final ones; rowSums[batch, heads, ...] the sums of dout * out of each row.
template <class T> struct RingAttentionBackward {
    static constexpr const char* kName = nameFor<T>(
        "ring_attention_backward_f64", "ring_attention_backward_f32", "ring_attention_backward_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* q;
        const T* kv;
        const T* dout;
        const Wide<T>* logSums;
        const Wide<T>* rowSums;
        Wide<T>* dq;
        Wide<T>* dkv;
        std::int64_t queries, keys, batch, heads, headSize, qStep, logSumsStep;
        bool causal;
    };
    static void host(const Args& args);
};

// rowSums[batch, heads, seqLen] = sum over a head's columns of dout * out.
template <class T> struct AttentionRowSums {
    static constexpr const char* kName
        = nameFor<T>("attention_row_sums_f64", "attention_row_sums_f32", "attention_row_sums_bf16");
    static constexpr bool kOnHost = onHost<T>;
    struct Args {
        const T* out;
        const T* dout;
        Wide<T>* rowSums;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
