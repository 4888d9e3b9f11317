// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/norm.h"
#include "model/parameter.h"
#include "model/pass.h"

namespace gdt::model {

/// Layer norm or RMS norm with what its backward pass needs.
template <class T> struct Norm {
    NormKind kind = NormKind::Layer;
    double epsilon = 0;
    std::int64_t hidden = 0;
    Tensor<T> gain;
    Tensor<T> bias; ///< layer norm only
    kernels::Wide<T>* mean = nullptr; ///< [rows], layer norm only
    kernels::Wide<T>* rstd = nullptr; ///< [rows]

    runtime::Status allocate(runtime::GraphPool& pool, std::int64_t rows) {
        GDT_TRY(take(pool, &rstd, rows));
        return kind == NormKind::Layer ? take(pool, &mean, rows) : runtime::Status::Success;
    }

    runtime::Status forward(const Pass& pass, const T* x, T* out) const {
        const std::int64_t rows = pass.shape.rows();
        const auto eps = static_cast<kernels::Wide<T>>(epsilon);
        if (kind == NormKind::Rms) {
            return pass.stream.template launch<kernels::RmsNormForward<T>>(
                gridFor(rows * hidden), {x, gain.value, out, rstd, rows, hidden, eps});
        }
        return pass.stream.template launch<kernels::LayerNormForward<T>>(
            gridFor(rows * hidden), {x, gain.value, bias.value, out, mean, rstd, rows, hidden, eps});
    }

    /// dx += gradient.
    runtime::Status backward(const Pass& pass, const T* x, const T* dout, T* dx) const {
        const std::int64_t rows = pass.shape.rows();
        if (kind == NormKind::Rms) {
            return pass.stream.template launch<kernels::RmsNormBackward<T>>(
                gridFor(rows * hidden), {x, gain.value, rstd, dout, dx, gain.gradient, rows, hidden});
        }
        return pass.stream.template launch<kernels::LayerNormBackward<T>>(gridFor(rows * hidden),
            {x, gain.value, mean, rstd, dout, dx, gain.gradient, bias.gradient, rows, hidden});
    }
};

} // namespace gdt::model
