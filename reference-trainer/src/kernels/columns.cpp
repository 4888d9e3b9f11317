// SPDX-License-Identifier: Apache-2.0
#include "kernels/columns.h"

#include "kernels/number.h"

#include <algorithm>

namespace gdt::kernels {

template <class T> void CopyColumns<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const T* from = args.from + r * args.fromStep;
        std::copy(from, from + args.columns, args.to + r * args.toStep);
    }
}

template <class T> void RoundColumns<T>::host(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const Wide<T>* from = args.from + r * args.fromStep;
        std::transform(from, from + args.columns, args.to + r * args.toStep, narrow<T>);
    }
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct CopyColumns<T>;                                                                          \
    template struct RoundColumns<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
