// SPDX-License-Identifier: Apache-2.0
#include "kernels/columns.h"

#include <algorithm>

namespace gdt::kernels {

namespace {

template <class Args> void copyRows(const Args& args) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
        const auto* from = args.from + r * args.fromStep;
        std::copy(from, from + args.columns, args.to + r * args.toStep);
    }
}

} // namespace

template <class T> void CopyColumns<T>::host(const Args& args) {
    copyRows(args);
}

template <class T> void RoundColumns<T>::host(const Args& args) {
    copyRows(args);
}

template struct CopyColumns<float>;
template struct CopyColumns<double>;
template struct RoundColumns<float>;
template struct RoundColumns<double>;

} // namespace gdt::kernels
