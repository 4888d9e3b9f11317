// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"

#include "kernels/number.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gdt::kernels {

template <class T> void SoftmaxCrossEntropy<T>::host(const Args& args) {
    using W = Wide<T>;
    const W scale = static_cast<W>(args.weight * args.state->lossScale);
    std::vector<W> values(static_cast<std::size_t>(args.vocab));
    for (std::int64_t r = 0; r < args.rows; ++r) {
        T* row = args.logits + r * args.vocab;
        const auto target = static_cast<std::size_t>(args.targets[r]);
        std::transform(row, row + args.vocab, values.begin(), [](T v) { return widen(v); });
        const W largest = *std::max_element(values.begin(), values.end());
        const W targetLogit = values[target] - largest;
        W total = 0;
        for (W& value : values) {
            value = std::exp(value - largest);
            total += value;
        }
        args.losses[r] = std::log(total) - targetLogit;
        for (W& value : values) {
            value *= scale / total;
        }
        values[target] -= scale;
        std::transform(values.begin(), values.end(), row, narrow<T>);
    }
}

template <class T> void LossAccumulate<T>::host(const Args& args) {
    double sum = 0;
    for (std::int64_t r = 0; r < args.rows; ++r) {
        sum += static_cast<double>(args.losses[r]);
    }
    args.state->loss += args.weight * sum;
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct SoftmaxCrossEntropy<T>;                                                                  \
    template struct LossAccumulate<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
