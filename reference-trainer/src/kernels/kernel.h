// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace gdt::kernels {

/// Kernels of the model follow gdt::runtime::Kernel (runtime/kernel.h): a name, a plain argument struct, a
/// host function. They do not allocate, synchronise or call the runtime. Matrices are row-major, activations
/// are [sequence, batch, hidden]: row r = position * batch + sample.
///
/// Values and activations have the element type T. Sums, statistics, losses, gradients of parameters and
/// scalars have the type Wide<T>: T itself, or float where T is narrower.
struct BFloat16 {
    std::uint16_t bits; ///< upper half of a float
};

template <class T> using Wide = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

/// The host computes in float and double only.
template <class T> inline constexpr bool onHost = std::is_same_v<T, Wide<T>>;

/// Which number format a kernel works on, as the end of its name.
enum class Format { F64, F32, BF16 };

template <class T> constexpr Format formatOf() {
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, BFloat16>);
    return std::is_same_v<T, double> ? Format::F64 : std::is_same_v<T, float> ? Format::F32 : Format::BF16;
}

/// This picks the name of a kernel by its element type.
template <class T> constexpr const char* nameFor(const char* f64, const char* f32, const char* bf16) {
    constexpr Format format = formatOf<T>();
    return format == Format::F64 ? f64 : format == Format::F32 ? f32 : bf16;
}

} // namespace gdt::kernels
