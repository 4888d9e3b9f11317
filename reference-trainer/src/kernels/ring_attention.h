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
    static constexpr const char* kName = nameOf<"ring_attention_forward", T>();
    struct Args {
        const T* q;
        const T* kv;
        Wide<T>* out;
        Wide<T>* logSums;
        std::int64_t queries, keys, batch, heads, headSize, qStep, logSumsStep;
        bool causal, merge;
        // Dropout of the probabilities, kernels/attention_mask.h.
        double dropout = 0;
        std::uint64_t seed = 0, stream = 0;
        const std::int64_t* firstSample = nullptr;
        std::int64_t firstHead = 0, allHeads = 0, wholeLen = 0;
        std::int64_t firstQuery = 0; // local position of query 0
        std::int64_t chunk = 0, queryFirst0 = 0, queryFirst1 = 0, keyFirst0 = 0, keyFirst1 = 0;
    };
    static void host(const Args& args);
};

// Writes this block's part of dq[queries * batch, heads * headSize] and dkv[keys * batch, 2 * heads *
// headSize], or with `add` adds it to what is there. logSums are the final ones; rowSums[batch, heads, ...]
// the sums of dout * out of each row.
template <class T> struct RingAttentionBackward {
    static constexpr const char* kName = nameOf<"ring_attention_backward", T>();
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
        // Dropout of the probabilities, kernels/attention_mask.h.
        double dropout = 0;
        std::uint64_t seed = 0, stream = 0;
        const std::int64_t* firstSample = nullptr;
        std::int64_t firstHead = 0, allHeads = 0, wholeLen = 0;
        std::int64_t firstQuery = 0; // local position of query 0
        std::int64_t chunk = 0, queryFirst0 = 0, queryFirst1 = 0, keyFirst0 = 0, keyFirst1 = 0;
        bool add = true;
    };
    static void host(const Args& args);
};

// rowSums[batch, heads, seqLen] = sum over a head's columns of dout * out.
template <class T> struct AttentionRowSums {
    static constexpr const char* kName = nameOf<"attention_row_sums", T>();
    struct Args {
        const T* out;
        const T* dout;
        Wide<T>* rowSums;
        std::int64_t seqLen, batch, heads, headSize;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
