// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
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
struct Float16 {
    std::uint16_t bits; ///< IEEE 754 binary16
};

template <class T> inline constexpr bool isNarrow = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <class T> using Wide = std::conditional_t<isNarrow<T>, float, T>;

/// Calls a macro with each element type.
#define GDT_FOR_EACH_FORMAT(MACRO)                                                                           \
    MACRO(float) MACRO(double) MACRO(::gdt::kernels::BFloat16) MACRO(::gdt::kernels::Float16)

/// The end of a kernel's name for its number format.
template <class T> constexpr std::string_view formatSuffix() {
    if constexpr (std::is_same_v<T, double>) {
        return "_f64";
    } else if constexpr (std::is_same_v<T, float>) {
        return "_f32";
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return "_bf16";
    } else {
        static_assert(std::is_same_v<T, Float16>);
        return "_f16";
    }
}

/// A string literal as a template argument.
template <std::size_t N> struct Word {
    char text[N];
    constexpr Word(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

namespace detail {

template <Word kBase, class... T> constexpr auto joinName() {
    std::array<char, sizeof(kBase.text) + (formatSuffix<T>().size() + ...)> name{};
    auto end = std::copy_n(kBase.text, sizeof(kBase.text) - 1, name.begin());
    ((end = std::copy(formatSuffix<T>().begin(), formatSuffix<T>().end(), end)), ...);
    return name;
}

template <Word kBase, class... T> inline constexpr auto kJoinedName = joinName<kBase, T...>();

} // namespace detail

/// The name of a kernel for element types: nameOf<"gemm", BFloat16, float>() is "gemm_bf16_f32".
template <Word kBase, class... T> constexpr const char* nameOf() {
    return detail::kJoinedName<kBase, T...>.data();
}

} // namespace gdt::kernels
