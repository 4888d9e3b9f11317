// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "model/parameter.h"
#include "model/pass.h"

namespace gdt::model {

/// y = x W^T + b over all rows of a pass. `in` and `out` are those of this rank: a column-parallel linear
/// holds part of the outputs, a row-parallel one part of the inputs, and then y is this rank's part of a sum.
/// Weight gradients accumulate; the input gradient is overwritten.
template <class T> struct Linear {
    Tensor<T> weight; ///< [out, in]
    Tensor<T> bias; ///< [out], null when there is none or it is added after the sum over ranks
    std::int64_t in = 0;
    std::int64_t out = 0;

    runtime::Status forward(const Pass& pass, const T* x, T* y) const {
        const std::int64_t rows = pass.rows();
        return pass.stream.template launch<kernels::Gemm<T>>(
            gridFor(rows, out), kernels::linearForward<T>(x, weight.value, bias.value, y, rows, in, out));
    }

    runtime::Status backwardInput(const Pass& pass, const T* dy, T* dx) const {
        const std::int64_t rows = pass.rows();
        return pass.stream.template launch<kernels::Gemm<T>>(
            gridFor(rows, in), kernels::linearBackwardInput<T>(dy, weight.value, dx, rows, in, out));
    }

    runtime::Status backwardWeight(const Pass& pass, const T* x, const T* dy) const {
        using WeightGemm = kernels::Gemm<T, kernels::Wide<T>>;
        const std::int64_t rows = pass.rows();
        GDT_TRY(pass.stream.template launch<WeightGemm>(
            gridFor(out, in), kernels::linearBackwardWeight<T>(dy, x, weight.gradient, rows, in, out)));
        if (bias.value == nullptr) {
            return runtime::Status::Success;
        }
        return pass.stream.template launch<kernels::BiasBackward<T>>(
            gridFor(out), {dy, bias.gradient, rows, out});
    }
};

} // namespace gdt::model
