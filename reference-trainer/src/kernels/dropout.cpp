// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

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
    const T scale = static_cast<T>(1.0 / (1.0 - args.rate));
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::uint64_t first = args.rate > 0 ? rowStart(args, r) : 0;
        for (std::int64_t c = 0; c < args.columns; ++c) {
            const std::int64_t i = r * args.columns + c;
            const T value = args.branch[i] + (args.bias != nullptr ? args.bias[c] : T(0));
            const bool keep = kept(args, first + static_cast<std::uint64_t>(c));
            args.out[i] = args.residual[i] + (keep ? value * scale : T(0));
        }
    }
}

template <class T> void Dropout<T>::host(const Args& args) {
    const T scale = static_cast<T>(1.0 / (1.0 - args.rate));
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const std::uint64_t first = rowStart(args, r);
        for (std::int64_t c = 0; c < args.columns; ++c) {
            const std::int64_t i = r * args.columns + c;
            args.out[i] = kept(args, first + static_cast<std::uint64_t>(c)) ? args.x[i] * scale : T(0);
        }
    }
}

template struct BiasDropoutAdd<float>;
template struct BiasDropoutAdd<double>;
template struct Dropout<float>;
template struct Dropout<double>;

} // namespace gdt::kernels
