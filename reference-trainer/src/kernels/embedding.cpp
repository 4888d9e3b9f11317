// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding.h"

#include "kernels/number.h"
#include "kernels/sequence_shard.h"

#include <algorithm>
#include <cmath>

namespace gdt::kernels {

template <class T> void EmbeddingForward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* from = args.table + args.tokens[r] * args.hidden;
        std::copy(from, from + args.hidden, args.out + r * args.hidden);
    }
}

template <class T> void EmbeddingBackward<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* from = args.dout + r * args.hidden;
        Wide<T>* to = args.dtable + args.tokens[r] * args.hidden;
        for (std::int64_t i = 0; i < args.hidden; ++i) {
            to[i] += widen(from[i]);
        }
    }
}

template <class T> void Rotary<T>::host(const Args& args) {
    using W = Wide<T>;
    const std::int64_t half = args.headSize / 2;
    const std::int64_t rowSize = 3 * args.heads * args.headSize;
    for (std::int64_t t = 0; t < args.seqLen; ++t) {
        const auto position = static_cast<double>(globalPosition(t, args.chunk, args.first0, args.first1));
        for (std::int64_t i = 0; i < half; ++i) {
            const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(args.headSize);
            const double angle = position * std::pow(args.base, exponent);
            const W c = static_cast<W>(std::cos(angle));
            const W s = static_cast<W>(std::sin(angle) * args.direction);
            for (std::int64_t b = 0; b < args.batch; ++b) {
                T* row = args.qkv + (t * args.batch + b) * rowSize;
                // Queries and keys lie next to each other, so 2 * heads covers both and leaves the values
                // alone.
                for (std::int64_t h = 0; h < 2 * args.heads; ++h) {
                    T* first = row + h * args.headSize + i;
                    T* second = first + half;
                    const W x = widen(*first);
                    const W y = widen(*second);
                    *first = narrow<T>(x * c - y * s);
                    *second = narrow<T>(x * s + y * c);
                }
            }
        }
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct EmbeddingForward<T>;                                                                     \
    template struct EmbeddingBackward<T>;                                                                    \
    template struct Rotary<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
