// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu.h"

#include "kernels/number.h"

#include <cmath>

namespace gdt::kernels {

namespace {

template <class W> W sigmoid(W x) {
    return W(1) / (W(1) + std::exp(-x));
}

} // namespace

template <class T> void SwigluForward<T>::host(const Args& args) {
    using W = Wide<T>;
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* gates = args.x + r * 2 * args.width;
        const T* values = gates + args.width;
        T* out = args.out + r * args.width;
        for (std::int64_t c = 0; c < args.width; ++c) {
            const W gate = widen(gates[c]);
            out[c] = narrow<T>(gate * sigmoid(gate) * widen(values[c]));
        }
    }
}

template <class T> void SwigluBackward<T>::host(const Args& args) {
    using W = Wide<T>;
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* gates = args.x + r * 2 * args.width;
        const T* dout = args.dout + r * args.width;
        T* dgates = args.dx + r * 2 * args.width;
        for (std::int64_t c = 0; c < args.width; ++c) {
            const W gate = widen(gates[c]);
            const W d = widen(dout[c]);
            const W s = sigmoid(gate);
            dgates[c] = narrow<T>(d * widen(gates[args.width + c]) * s * (W(1) + gate * (W(1) - s)));
            dgates[args.width + c] = narrow<T>(d * gate * s);
        }
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct SwigluForward<T>;                                                                        \
    template struct SwigluBackward<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
