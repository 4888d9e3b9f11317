// SPDX-License-Identifier: Apache-2.0
#include "kernels/vocab_parallel.h"

#include <algorithm>
#include <cmath>

namespace gdt::kernels {

namespace {

// Index of a token in this rank's part, -1 when another rank holds it.
std::int64_t place(std::int32_t token, std::int64_t firstToken, std::int64_t vocab) {
    const std::int64_t index = token - firstToken;
    return index >= 0 && index < vocab ? index : -1;
}

} // namespace

template <class T> void VocabEmbeddingForward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        T* to = args.out + r * args.hidden;
        const std::int64_t index = place(args.tokens[r], args.firstToken, args.vocab);
        if (index < 0) {
            std::fill(to, to + args.hidden, T(0));
        } else {
            std::copy_n(args.table + index * args.hidden, args.hidden, to);
        }
    }
}

template <class T> void VocabEmbeddingBackward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::int64_t index = place(args.tokens[r], args.firstToken, args.vocab);
        for (std::int64_t i = 0; index >= 0 && i < args.hidden; ++i) {
            args.dtable[index * args.hidden + i] += args.dout[r * args.hidden + i];
        }
    }
}

template <class T> void VocabMaximum<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* row = args.logits + r * args.vocab;
        args.maxima[r] = *std::max_element(row, row + args.vocab);
    }
}

template <class T> void VocabSums<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* row = args.logits + r * args.vocab;
        const Wide<T> maximum = args.maxima[r];
        const std::int64_t target = place(args.targets[r], args.firstToken, args.vocab);
        Wide<T> total = 0;
        for (std::int64_t j = 0; j < args.vocab; ++j) {
            total += std::exp(row[j] - maximum);
        }
        args.sums[r] = target < 0 ? Wide<T>(0) : row[target] - maximum;
        args.sums[args.rows + r] = total;
    }
}

template <class T> void VocabCrossEntropy<T>::host(const Args& args) {
    const auto scale = static_cast<Wide<T>>(args.weight * args.state->lossScale);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        T* row = args.logits + r * args.vocab;
        const Wide<T> maximum = args.maxima[r];
        const Wide<T> total = args.sums[args.rows + r];
        const std::int64_t target = place(args.targets[r], args.firstToken, args.vocab);
        args.losses[r] = std::log(total) - args.sums[r];
        for (std::int64_t j = 0; j < args.vocab; ++j) {
            row[j] = std::exp(row[j] - maximum) * (scale / total);
        }
        if (target >= 0) {
            row[target] -= scale;
        }
    }
}

template struct VocabEmbeddingForward<float>;
template struct VocabEmbeddingForward<double>;
template struct VocabEmbeddingBackward<float>;
template struct VocabEmbeddingBackward<double>;
template struct VocabMaximum<float>;
template struct VocabMaximum<double>;
template struct VocabSums<float>;
template struct VocabSums<double>;
template struct VocabCrossEntropy<float>;
template struct VocabCrossEntropy<double>;

} // namespace gdt::kernels
