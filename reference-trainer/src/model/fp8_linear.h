// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fp8.h"
#include "model/pass.h"
#include "model/scratch.h"

namespace gdt::model {

/// The products of a linear with 8-bit factors: input and weights in E4M3, the gradient of the output in
/// E5M2. Nothing in 8 bits is kept between passes: the backward pass rounds its factors again, transposed
/// where the product needs the summed dimension side by side.
struct Fp8Linear {
    using Element = kernels::BFloat16;

    const Fp8Scratch* scratch = nullptr; ///< null: the linear does not multiply in 8 bits
    kernels::Fp8Scales scales; ///< of its three tensors
    std::int64_t in = 0, out = 0;

    runtime::Status forward(
        const Pass& pass, const Element* x, const Element* w, const Element* bias, Element* y) const {
        GDT_TRY(round(pass, Input, x, pass.rows(), in, scratch->left, false, true));
        GDT_TRY(round(pass, Weights, w, out, in, scratch->right, false, true));
        return multiply<Element>(pass,
            {scratch->left, scratch->right, y, bias, scales.inverse + Input, scales.inverse + Weights,
                pass.rows(), out, in, 0.0F, false});
    }
    runtime::Status backwardInput(const Pass& pass, const Element* dy, const Element* w, Element* dx) const {
        GDT_TRY(round(pass, Gradient, dy, pass.rows(), out, scratch->left, false, true));
        GDT_TRY(round(pass, Weights, w, out, in, scratch->right, true, false));
        return multiply<Element>(pass,
            {scratch->left, scratch->right, dx, nullptr, scales.inverse + Gradient, scales.inverse + Weights,
                pass.rows(), in, out, 0.0F, true});
    }
    runtime::Status backwardWeight(const Pass& pass, const Element* x, const Element* dy, float* dw) const {
        GDT_TRY(round(pass, Gradient, dy, pass.rows(), out, scratch->left, true, false));
        GDT_TRY(round(pass, Input, x, pass.rows(), in, scratch->right, true, false));
        return multiply<float>(pass,
            {scratch->left, scratch->right, dw, nullptr, scales.inverse + Gradient, scales.inverse + Input,
                out, in, pass.rows(), 1.0F, true});
    }

private:
    enum Which { Input, Weights, Gradient };

    // `counts`: once a pass for each tensor, its values count for the scales of later steps.
    runtime::Status round(const Pass& pass, Which which, const Element* x, std::int64_t rows,
        std::int64_t columns, std::uint8_t* target, bool transposed, bool counts) const {
        return pass.stream.launch<kernels::QuantizeFp8<Element>>(gridFor(rows * columns),
            {x, target, counts ? scales.amax + which : nullptr, scales.scale + which, rows, columns,
                which == Gradient, transposed});
    }
    template <class C>
    runtime::Status multiply(const Pass& pass, const typename kernels::GemmFp8<C>::Args& args) const {
        return pass.stream.launch<kernels::GemmFp8<C>>(gridFor(args.m, args.n), args);
    }
};

} // namespace gdt::model
