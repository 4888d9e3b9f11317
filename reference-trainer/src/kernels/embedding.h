// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace gdt::kernels {

// out[row,:] = table[tokens[row],:].
template <class T> struct EmbeddingForward {
    static constexpr const char* kName = nameOf<"embedding_forward", T>();
    struct Args {
        const std::int32_t* tokens;
        const T* table;
        T* out;
        std::int64_t rows, hidden;
    };
    static void host(const Args& args);
};

// dtable[tokens[row],:] += dout[row,:], rows in order: a token that occurs twice is added twice in that
// order.
template <class T> struct EmbeddingBackward {
    static constexpr const char* kName = nameOf<"embedding_backward", T>();
    struct Args {
        const std::int32_t* tokens;
        const T* dout;
        Wide<T>* dtable;
        std::int64_t rows, hidden;
    };
    static void host(const Args& args);
};

// Rotary position embedding in place on the query and key parts of qkv[rows, 3 * heads * headSize]: the pair
// (i, i + headSize/2) of each head turns by position / base^(2i / headSize), with the position in the whole
// sequence; seqLen counts the positions of this rank. direction +1 forward, -1
// backward (the inverse rotation is the transpose, so the same kernel carries the gradient).
template <class T> struct Rotary {
    static constexpr const char* kName = nameOf<"rotary", T>();
    struct Args {
        T* qkv;
        std::int64_t seqLen, batch, heads, headSize;
        double base;
        double direction;
        std::int64_t chunk = 0, first0 = 0, first1 = 0; // kernels/sequence_shard.h
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
