// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "model/parameter.h"
#include "model/pass.h"

namespace gdt::model {

/// y = x W^T + b. Weight gradients accumulate; the input gradient is overwritten.
template <class T> struct Linear {
    Tensor<T> weight; ///< [out, in]
    Tensor<T> bias; ///< [out], null when there is none
    std::int64_t in = 0;
    std::int64_t out = 0;

    runtime::Status forward(const Pass& pass, const T* x, T* y) const {
        const std::int64_t rows = pass.shape.rows();
        return pass.stream.template launch<kernels::Gemm<T>>(
            gridFor(rows, out), kernels::linearForward<T>(x, weight.value, bias.value, y, rows, in, out));
    }

    runtime::Status backward(const Pass& pass, const T* x, const T* dy, T* dx) const {
        using kernels::BiasBackward;
        using kernels::Gemm;
        using WeightGemm = Gemm<T, kernels::Wide<T>>;
        const std::int64_t rows = pass.shape.rows();
        GDT_TRY(pass.stream.template launch<WeightGemm>(
            gridFor(out, in), kernels::linearBackwardWeight<T>(dy, x, weight.gradient, rows, in, out)));
        if (bias.value != nullptr) {
            GDT_TRY(
                pass.stream.template launch<BiasBackward<T>>(gridFor(out), {dy, bias.gradient, rows, out}));
        }
        return pass.stream.template launch<Gemm<T>>(
            gridFor(rows, in), kernels::linearBackwardInput<T>(dy, weight.value, dx, rows, in, out));
    }
};

} // namespace gdt::model
