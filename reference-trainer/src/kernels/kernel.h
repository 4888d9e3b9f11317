// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace gdt::kernels {

/// Kernels of the model follow gdt::runtime::Kernel (runtime/kernel.h): a name, a plain argument struct, a
/// host function. They do not allocate, synchronise or call the runtime. Matrices are row-major, activations
/// are [sequence, batch, hidden]: row r = position * batch + sample.
///
/// This picks the name of a kernel by its element type.
template <class T> constexpr const char* nameFor(const char* f64, const char* f32) {
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>);
    return std::is_same_v<T, double> ? f64 : f32;
}

} // namespace gdt::kernels
