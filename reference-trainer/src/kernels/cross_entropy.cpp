// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace gdt::kernels {

template <class T> void SoftmaxCrossEntropy<T>::host(const Args& args) {
    const T scale = static_cast<T>(args.weight * args.state->lossScale);
    for (std::int64_t r = 0; r < args.rows; ++r) {
        T* row = args.logits + r * args.vocab;
        const T largest = *std::max_element(row, row + args.vocab);
        const std::int32_t target = args.targets[r];
        const T targetLogit = row[target] - largest;
        T total = 0;
        for (std::int64_t j = 0; j < args.vocab; ++j) {
            row[j] = std::exp(row[j] - largest);
            total += row[j];
        }
        args.losses[r] = std::log(total) - targetLogit;
        for (std::int64_t j = 0; j < args.vocab; ++j) {
            row[j] *= scale / total;
        }
        row[target] -= scale;
    }
}

template <class T> void LossAccumulate<T>::host(const Args& args) {
    double sum = 0;
    for (std::int64_t r = 0; r < args.rows; ++r) {
        sum += static_cast<double>(args.losses[r]);
    }
    args.state->loss += args.weight * sum;
}

template struct SoftmaxCrossEntropy<float>;
template struct SoftmaxCrossEntropy<double>;
template struct LossAccumulate<float>;
template struct LossAccumulate<double>;

} // namespace gdt::kernels
