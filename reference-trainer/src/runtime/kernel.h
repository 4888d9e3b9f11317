// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gdt::runtime {

/// Launch shape in blocks and threads. The host backend runs a kernel once, whatever the shape; the shape is
/// reported.
struct Grid {
    std::uint32_t gridX = 1, gridY = 1, gridZ = 1;
    std::uint32_t blockX = 1, blockY = 1, blockZ = 1;
    std::uint32_t sharedBytes = 0;

    bool operator==(const Grid&) const = default;
};

/// One by-value parameter inside a kernel's argument struct.
struct ParameterField {
    std::uint32_t offset = 0;
    std::uint32_t sizeBytes = 0;
};

/// What a launch needs to know of a kernel; one constant object per kernel type, its address is the function
/// identity.
struct KernelInfo {
    const char* name = "";
    std::uint32_t argumentBytes = 0;
    std::uint32_t fieldCount = 0;
    const ParameterField* fields = nullptr;
    void (*host)(const void* arguments) = nullptr;
    mutable std::atomic<const void*> launcher{nullptr}; ///< the CUDA backend's, found at the first launch
};

inline constexpr std::size_t kMaxArgumentBytes = 256;
inline constexpr std::size_t kMaxArgumentFields = 32;

namespace detail {

struct AnyField {
    template <class T> constexpr operator T() const noexcept;
};

template <std::size_t> using AnyFieldAt = AnyField;

template <class T, std::size_t... I> constexpr bool initialisableFrom(std::index_sequence<I...>) {
    return requires {
        T{AnyFieldAt<I>{}...};
    };
}

template <class T, std::size_t N = kMaxArgumentFields> constexpr std::size_t fieldCount() {
    if constexpr (N == 0)
        return 0;
    else if constexpr (initialisableFrom<T>(std::make_index_sequence<N>{}))
        return N;
    else
        return fieldCount<T, N - 1>();
}

template <class T, class... F> auto fieldLayout(const T& object, const F&... field) {
    const auto* base = reinterpret_cast<const std::byte*>(&object);
    return std::array<ParameterField, sizeof...(F)>{
        ParameterField{static_cast<std::uint32_t>(reinterpret_cast<const std::byte*>(&field) - base),
            static_cast<std::uint32_t>(sizeof(F))}...};
}

#define GDT_FIELDS(n, ...)                                                                                   \
    else if constexpr (count == n) {                                                                         \
        const auto& [__VA_ARGS__] = object;                                                                  \
        return fieldLayout(object, __VA_ARGS__);                                                             \
    }
#define GDT_A8 a0, a1, a2, a3, a4, a5, a6, a7
#define GDT_A16 GDT_A8, b0, b1, b2, b3, b4, b5, b6, b7
#define GDT_A24 GDT_A16, c0, c1, c2, c3, c4, c5, c6, c7

/// Offsets and sizes of the members of an aggregate without arrays and bases.
template <class T> auto layoutOf(const T& object) {
    constexpr std::size_t count = fieldCount<T>();
    if constexpr (count == 0 || std::is_empty_v<T>) {
        return std::array<ParameterField, 0>{};
    }
    GDT_FIELDS(1, a0)
    GDT_FIELDS(2, a0, a1)
    GDT_FIELDS(3, a0, a1, a2)
    GDT_FIELDS(4, a0, a1, a2, a3)
    GDT_FIELDS(5, a0, a1, a2, a3, a4)
    GDT_FIELDS(6, a0, a1, a2, a3, a4, a5)
    GDT_FIELDS(7, a0, a1, a2, a3, a4, a5, a6)
    GDT_FIELDS(8, GDT_A8)
    GDT_FIELDS(9, GDT_A8, b0)
    GDT_FIELDS(10, GDT_A8, b0, b1)
    GDT_FIELDS(11, GDT_A8, b0, b1, b2)
    GDT_FIELDS(12, GDT_A8, b0, b1, b2, b3)
    GDT_FIELDS(13, GDT_A8, b0, b1, b2, b3, b4)
    GDT_FIELDS(14, GDT_A8, b0, b1, b2, b3, b4, b5)
    GDT_FIELDS(15, GDT_A8, b0, b1, b2, b3, b4, b5, b6)
    GDT_FIELDS(16, GDT_A16)
    GDT_FIELDS(17, GDT_A16, c0)
    GDT_FIELDS(18, GDT_A16, c0, c1)
    GDT_FIELDS(19, GDT_A16, c0, c1, c2)
    GDT_FIELDS(20, GDT_A16, c0, c1, c2, c3)
    GDT_FIELDS(21, GDT_A16, c0, c1, c2, c3, c4)
    GDT_FIELDS(22, GDT_A16, c0, c1, c2, c3, c4, c5)
    GDT_FIELDS(23, GDT_A16, c0, c1, c2, c3, c4, c5, c6)
    GDT_FIELDS(24, GDT_A24)
    GDT_FIELDS(25, GDT_A24, d0)
    GDT_FIELDS(26, GDT_A24, d0, d1)
    GDT_FIELDS(27, GDT_A24, d0, d1, d2)
    GDT_FIELDS(28, GDT_A24, d0, d1, d2, d3)
    GDT_FIELDS(29, GDT_A24, d0, d1, d2, d3, d4)
    GDT_FIELDS(30, GDT_A24, d0, d1, d2, d3, d4, d5)
    GDT_FIELDS(31, GDT_A24, d0, d1, d2, d3, d4, d5, d6)
    GDT_FIELDS(32, GDT_A24, d0, d1, d2, d3, d4, d5, d6, d7)
}

#undef GDT_FIELDS
#undef GDT_A8
#undef GDT_A16
#undef GDT_A24

template <class K> void runOnHost(const void* arguments) {
    typename K::Args copy;
    std::memcpy(&copy, arguments, sizeof(copy));
    K::host(copy);
}

template <class K> const KernelInfo& makeKernelInfo() {
    using Args = typename K::Args;
    static const auto fields = layoutOf(Args{});
    static const KernelInfo info{K::kName, static_cast<std::uint32_t>(sizeof(Args)),
        static_cast<std::uint32_t>(fields.size()), fields.data(), runOnHost<K>, {}};
    return info;
}

} // namespace detail

/// A kernel: a name, a plain argument struct (pointers and scalars, no arrays), and the host implementation.
/// The CUDA backend finds its version by the name.
/// The struct is copied at launch or capture, which freezes scalars and pointers exactly as a CUDA launch
/// does.
template <class K>
concept Kernel = requires(const typename K::Args& arguments) {
    { K::kName } -> std::convertible_to<const char*>;
    {K::host(arguments)};
}
&&std::is_trivially_copyable_v<typename K::Args>&& std::is_aggregate_v<typename K::Args>&&
        std::is_default_constructible_v<typename K::Args> && sizeof(typename K::Args) <= kMaxArgumentBytes;

/// The same object at each call.
template <Kernel K> const KernelInfo& kernelInfo() {
    return detail::makeKernelInfo<K>();
}

} // namespace gdt::runtime
