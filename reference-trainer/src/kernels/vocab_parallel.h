// SPDX-License-Identifier: Apache-2.0
// Embedding and loss when each tensor-parallel rank holds `vocab` tokens of the vocabulary from `firstToken`.
#pragma once

#include "kernels/kernel.h"
#include "optim/step_state.h"

namespace gdt::kernels {

// out[row,:] = table[tokens[row] - firstToken,:], or 0 for a token of another rank.
template <class T> struct VocabEmbeddingForward {
    static constexpr const char* kName = nameOf<"vocab_embedding_forward", T>();
    struct Args {
        const std::int32_t* tokens;
        const T* table;
        T* out;
        std::int64_t rows, hidden, firstToken, vocab;
    };
    static void host(const Args& args);
};

// dtable[tokens[row] - firstToken,:] += dout[row,:] for own tokens, rows in order.
template <class T> struct VocabEmbeddingBackward {
    static constexpr const char* kName = nameOf<"vocab_embedding_backward", T>();
    struct Args {
        const std::int32_t* tokens;
        const T* dout;
        Wide<T>* dtable;
        std::int64_t rows, hidden, firstToken, vocab;
    };
    static void host(const Args& args);
};

// maxima[row] = largest of this rank's logits.
template <class T> struct VocabMaximum {
    static constexpr const char* kName = nameOf<"vocab_maximum", T>();
    struct Args {
        const T* logits;
        Wide<T>* maxima;
        std::int64_t rows, vocab;
    };
    static void host(const Args& args);
};

// With the maxima over all ranks: sums[row] = logit of the target minus the maximum, 0 when another rank
// holds it; sums[rows + row] = sum of exp(logit - maximum).
template <class T> struct VocabSums {
    static constexpr const char* kName = nameOf<"vocab_sums", T>();
    struct Args {
        const T* logits;
        const std::int32_t* targets;
        const Wide<T>* maxima;
        Wide<T>* sums;
        std::int64_t rows, vocab, firstToken;
    };
    static void host(const Args& args);
};

// With the sums over all ranks: losses[row] = -log softmax(logits)[target], and logits are overwritten by
// their gradient (softmax - onehot) * weight * state->lossScale.
template <class T> struct VocabCrossEntropy {
    static constexpr const char* kName = nameOf<"vocab_cross_entropy", T>();
    struct Args {
        T* logits;
        const std::int32_t* targets;
        const Wide<T>* maxima;
        const Wide<T>* sums;
        Wide<T>* losses;
        const optim::StepState* state;
        std::int64_t rows, vocab, firstToken;
        double weight;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
