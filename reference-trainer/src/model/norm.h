// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/norm.h"
#include "model/buffer_plan.h"
#include "model/parameter.h"
#include "model/pass.h"

namespace gdt::model {

/// What the backward pass of a norm needs, for the rows of one slot.
template <class T> struct NormStatistics {
    kernels::Wide<T>* mean = nullptr; ///< layer norm only
    kernels::Wide<T>* rstd = nullptr;

    void plan(BufferPlan& plan, NormKind kind, std::int64_t rows, const std::string& key = {}) {
        plan.want(&rstd, rows, key.empty() ? key : key + ".rstd");
        if (kind == NormKind::Layer) {
            plan.want(&mean, rows, key.empty() ? key : key + ".mean");
        }
    }
};

/// Layer norm or RMS norm over the rows of the residual stream that this rank holds.
template <class T> struct Norm {
    NormKind kind = NormKind::Layer;
    double epsilon = 0;
    std::int64_t hidden = 0;
    Tensor<T> gain;
    Tensor<T> bias; ///< layer norm only
    std::int64_t layer = -1; ///< -1: after the last layer

    runtime::Status forward(const Pass& pass, const T* x, T* out, const NormStatistics<T>& statistics) const {
        const std::int64_t rows = pass.shardRows();
        const auto eps = static_cast<kernels::Wide<T>>(pass.hooks.normEpsilon(layer, epsilon));
        if (kind == NormKind::Rms) {
            return pass.stream.template launch<kernels::RmsNormForward<T>>(
                gridFor(rows * hidden), {x, gain.value, out, statistics.rstd, rows, hidden, eps});
        }
        return pass.stream.template launch<kernels::LayerNormForward<T>>(gridFor(rows * hidden),
            {x, gain.value, bias.value, out, statistics.mean, statistics.rstd, rows, hidden, eps});
    }

    /// dx += gradient.
    runtime::Status backward(
        const Pass& pass, const T* x, const T* dout, T* dx, const NormStatistics<T>& statistics) const {
        const std::int64_t rows = pass.shardRows();
        if (kind == NormKind::Rms) {
            return pass.stream.template launch<kernels::RmsNormBackward<T>>(gridFor(rows * hidden),
                {x, gain.value, statistics.rstd, dout, dx, gain.gradient, rows, hidden});
        }
        return pass.stream.template launch<kernels::LayerNormBackward<T>>(gridFor(rows * hidden),
            {x, gain.value, statistics.mean, statistics.rstd, dout, dx, gain.gradient, bias.gradient, rows,
                hidden});
    }
};

} // namespace gdt::model
