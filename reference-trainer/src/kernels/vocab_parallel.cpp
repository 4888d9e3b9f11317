// SPDX-License-Identifier: Apache-2.0
#include "kernels/vocab_parallel.h"

#include "kernels/number.h"

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
            std::fill(to, to + args.hidden, T{});
        } else {
            std::copy_n(args.table + index * args.hidden, args.hidden, to);
        }
    }
}

template <class T> void VocabEmbeddingBackward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::int64_t index = place(args.tokens[r], args.firstToken, args.vocab);
        for (std::int64_t i = 0; index >= 0 && i < args.hidden; ++i) {
            args.dtable[index * args.hidden + i] += widen(args.dout[r * args.hidden + i]);
        }
    }
}

template <class T> void VocabMaximum<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* row = args.logits + r * args.vocab;
        Wide<T> most = widen(row[0]);
        for (std::int64_t j = 1; j < args.vocab; ++j) {
            most = std::max(most, widen(row[j]));
        }
        args.maxima[r] = most;
    }
}

template <class T> void VocabSums<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* row = args.logits + r * args.vocab;
        const Wide<T> maximum = args.maxima[r];
        const std::int64_t target = place(args.targets[r], args.firstToken, args.vocab);
        Wide<T> total = 0;
        for (std::int64_t j = 0; j < args.vocab; ++j) {
            total += std::exp(widen(row[j]) - maximum);
        }
        args.sums[r] = target < 0 ? Wide<T>(0) : widen(row[target]) - maximum;
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
            const Wide<T> share = std::exp(widen(row[j]) - maximum) * (scale / total);
            row[j] = narrow<T>(j == target ? share - scale : share);
        }
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct VocabEmbeddingForward<T>;                                                                \
    template struct VocabEmbeddingBackward<T>;                                                               \
    template struct VocabMaximum<T>;                                                                         \
    template struct VocabSums<T>;                                                                            \
    template struct VocabCrossEntropy<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
