// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

#include "kernels/number.h"
#include "kernels/rng.h"
#include "kernels/sequence_shard.h"

namespace gdt::kernels {

namespace {

// Number of the first element of a row among all elements of the run.
template <class Args> std::uint64_t rowStart(const Args& a, std::int64_t row) {
    const std::int64_t local = a.firstRow + row;
    const std::int64_t position = globalPosition(local / a.batch, a.chunk, a.first0, a.first1);
    const std::int64_t sample = *a.firstSample + local % a.batch;
    return static_cast<std::uint64_t>((sample * a.seqLen + position) * a.columns);
}

template <class Args> bool kept(const Args& a, std::uint64_t element) {
    return a.rate <= 0 || randomUniform(a.seed, a.stream, element) >= a.rate;
}

} // namespace

template <class T> void BiasDropoutAdd<T>::host(const Args& args) {
    using W = Wide<T>;
    const W scale = static_cast<W>(1.0 / (1.0 - args.rate));
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::uint64_t first = args.rate > 0 ? rowStart(args, r) : 0;
        for (std::int64_t c = 0; c < args.columns; ++c) {
            const std::int64_t i = r * args.columns + c;
            const W value = widen(args.branch[i]) + (args.bias != nullptr ? widen(args.bias[c]) : W(0));
            const bool keep = kept(args, first + static_cast<std::uint64_t>(c));
            args.out[i] = narrow<T>(widen(args.residual[i]) + (keep ? value * scale : W(0)));
        }
    }
}

template <class T> void Dropout<T>::host(const Args& args) {
    using W = Wide<T>;
    const W scale = static_cast<W>(1.0 / (1.0 - args.rate));
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::uint64_t first = rowStart(args, r);
        for (std::int64_t c = 0; c < args.columns; ++c) {
            const std::int64_t i = r * args.columns + c;
            const bool keep = kept(args, first + static_cast<std::uint64_t>(c));
            args.out[i] = narrow<T>(keep ? widen(args.x[i]) * scale : W(0));
        }
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct BiasDropoutAdd<T>;                                                                       \
    template struct Dropout<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
