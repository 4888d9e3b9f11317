// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "model/fp8_linear.h"
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
    Fp8Linear fp8{}; ///< used when it has a scratch, with bf16 only

    runtime::Status forward(const Pass& pass, const T* x, T* y) const {
        if constexpr (std::is_same_v<T, kernels::BFloat16>) {
            if (fp8.scratch != nullptr) {
                return fp8.forward(pass, x, weight.value, bias.value, y);
            }
        }
        const std::int64_t rows = pass.rows();
        return pass.stream.template launch<kernels::Gemm<T>>(
            gridFor(rows, out), kernels::linearForward<T>(x, weight.value, bias.value, y, rows, in, out));
    }

    runtime::Status backwardInput(const Pass& pass, const T* dy, T* dx) const {
        if constexpr (std::is_same_v<T, kernels::BFloat16>) {
            if (fp8.scratch != nullptr) {
                return fp8.backwardInput(pass, dy, weight.value, dx);
            }
        }
        const std::int64_t rows = pass.rows();
        return pass.stream.template launch<kernels::Gemm<T>>(
            gridFor(rows, in), kernels::linearBackwardInput<T>(dy, weight.value, dx, rows, in, out));
    }

    runtime::Status backwardWeight(const Pass& pass, const T* x, const T* dy) const {
        const std::int64_t rows = pass.rows();
        GDT_TRY(multiplyWeight(pass, x, dy));
        if (bias.value == nullptr) {
            return runtime::Status::Success;
        }
        return pass.stream.template launch<kernels::BiasBackward<T>>(
            gridFor(out), {dy, bias.gradient, rows, out});
    }

private:
    runtime::Status multiplyWeight(const Pass& pass, const T* x, const T* dy) const {
        if constexpr (std::is_same_v<T, kernels::BFloat16>) {
            if (fp8.scratch != nullptr) {
                return fp8.backwardWeight(pass, x, dy, weight.gradient);
            }
        }
        return pass.stream.template launch<kernels::Gemm<T, kernels::Wide<T>>>(
            gridFor(out, in), kernels::linearBackwardWeight<T>(dy, x, weight.gradient, pass.rows(), in, out));
    }
};

} // namespace gdt::model
