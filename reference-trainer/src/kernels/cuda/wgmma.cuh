// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/mma.cuh"

// Matrix products of a warpgroup (four warps) on Hopper (PTX ISA: wgmma.mma_async), for code compiled for
// sm_90a.
//
// A tile of R rows of D values lies in panels of 64 columns, each R rows of 128 bytes whose 16-byte chunks
// are permuted by the row: the layout "128-byte swizzle" of the matrix descriptors. Tiles begin at multiples
// of 1,024 bytes.
//
// The products run beside the threads. Registers that take part are named in `fenceRegisters` before the
// first product after they changed and after the wait, or the compiler moves their uses across.
namespace gdt::kernels::cuda::wgmma {

constexpr int kRowBytes = 128; // of a panel
constexpr int kGroupBytes = 1024; // eight rows of a panel, the unit of the permutation

template <int R> constexpr int kPanelBytes = R* kRowBytes;

template <int R> struct PanelLayout {
    static __device__ std::uint32_t at(std::uint32_t tile, int row, int chunk) {
        return tile
            + static_cast<std::uint32_t>(
                chunk / 8 * kPanelBytes<R> + row * kRowBytes + ((chunk ^ row) & 7) * 16);
    }
};

/// Of rows whose columns are summed over: groups of eight rows follow each other. Of columns that stay
/// columns
/// (`panelBytes` apart), with the rows summed over: the same groups, walked along the other side.
__device__ inline std::uint64_t descriptor(std::uint32_t address, int panelBytes) {
    constexpr std::uint64_t kSwizzle128 = 1ULL << 62;
    return static_cast<std::uint64_t>((address & 0x3ffffU) >> 4)
        | static_cast<std::uint64_t>(panelBytes >> 4) << 16
        | static_cast<std::uint64_t>(kGroupBytes >> 4) << 32 | kSwizzle128;
}

/// Makes copies that this thread waited for visible to products; a barrier of the block follows.
__device__ inline void publishCopies() {
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
__device__ inline void beginProducts() {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ inline void commitProducts() {
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Waits until at most N of the groups committed are under way.
template <int N> __device__ inline void waitForProducts() {
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(N) : "memory");
}
template <int N> __device__ inline void fenceRegisters(float (&c)[N][4]) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            asm volatile("" : "+f"(c[n][e])::"memory");
    }
}

// One product of 64 rows, N columns and a depth of 16. The register lists of the instruction cannot be made
// by templates.
#define GDT_SUMS_4(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define GDT_SUMS_16(i) GDT_SUMS_4(i), GDT_SUMS_4(i + 1), GDT_SUMS_4(i + 2), GDT_SUMS_4(i + 3)
#define GDT_SUMS_32 GDT_SUMS_16(0), GDT_SUMS_16(4)
#define GDT_SUMS_64 GDT_SUMS_32, GDT_SUMS_16(8), GDT_SUMS_16(12)
#define GDT_NAMES_32                                                                                         \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "   \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GDT_NAMES_64                                                                                         \
    GDT_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, "   \
                 "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define GDT_PRODUCT(shape, types, names, left, right, add, transposed)                                       \
    "{\n.reg .pred p;\nsetp.ne.b32 p, " add ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." types        \
    " {" names "}, " left ", " right ", p, 1, 1, " transposed ";\n}\n"

/// c = rows of the left tile times rows of the right tile; added to c when `add`.
template <class T, int N>
__device__ inline void multiplyTiles(float (&c)[N / 8][4], std::uint64_t left, std::uint64_t right, int add) {
    static_assert(N == 64 || N == 128);
#define GDT_FORM(types)                                                                                      \
    if constexpr (N == 64)                                                                                   \
        asm volatile(GDT_PRODUCT("m64n64k16", types, GDT_NAMES_32, "%32", "%33", "%34", "0, 0")              \
                     : GDT_SUMS_32                                                                           \
                     : "l"(left), "l"(right), "r"(add));                                                     \
    else                                                                                                     \
        asm volatile(GDT_PRODUCT("m64n128k16", types, GDT_NAMES_64, "%64", "%65", "%66", "0, 0")             \
                     : GDT_SUMS_64                                                                           \
                     : "l"(left), "l"(right), "r"(add))
    if constexpr (std::is_same_v<T, Float16>) {
        GDT_FORM("f16.f16");
    } else {
        GDT_FORM("bf16.bf16");
    }
#undef GDT_FORM
}

/// c += values in registers times columns of the right tile.
template <class T, int N>
__device__ inline void multiplyRegisters(
    float (&c)[N / 8][4], const std::uint32_t (&a)[4], std::uint64_t right) {
    static_assert(N == 64 || N == 128);
#define GDT_FORM(types)                                                                                      \
    if constexpr (N == 64)                                                                                   \
        asm volatile(                                                                                        \
            GDT_PRODUCT("m64n64k16", types, GDT_NAMES_32, "{%32, %33, %34, %35}", "%36", "%37", "1")         \
            : GDT_SUMS_32                                                                                    \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"(1));                               \
    else                                                                                                     \
        asm volatile(                                                                                        \
            GDT_PRODUCT("m64n128k16", types, GDT_NAMES_64, "{%64, %65, %66, %67}", "%68", "%69", "1")        \
            : GDT_SUMS_64                                                                                    \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"(1))
    if constexpr (std::is_same_v<T, Float16>) {
        GDT_FORM("f16.f16");
    } else {
        GDT_FORM("bf16.bf16");
    }
#undef GDT_FORM
}

#undef GDT_SUMS_4
#undef GDT_SUMS_16
#undef GDT_SUMS_32
#undef GDT_SUMS_64
#undef GDT_NAMES_32
#undef GDT_NAMES_64
#undef GDT_PRODUCT

/// Starts c = 64 rows of a tile of RL rows, from `leftRow` (a multiple of 64) on, times all N rows of
/// another, over the D columns, and commits it.
template <class T, int D, int RL, int N>
__device__ inline void startRows(float (&c)[N / 8][4], std::uint32_t left, int leftRow, std::uint32_t right) {
    fenceRegisters(c);
    beginProducts();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
        const std::uint32_t within = k % 4 * 32;
        multiplyTiles<T, N>(c,
            descriptor(left + leftRow * kRowBytes + k / 4 * kPanelBytes<RL> + within, kPanelBytes<RL>),
            descriptor(right + k / 4 * kPanelBytes<N> + within, kPanelBytes<N>), k > 0 ? 1 : 0);
    }
    commitProducts();
}

/// Starts c += values (64 x K, rounded already) times a tile of K rows of D values, and commits it.
template <class T, int D, int K>
__device__ inline void startColumns(
    float (&c)[D / 8][4], const std::uint32_t (&values)[K / 16][4], std::uint32_t right) {
    fenceRegisters(c);
    beginProducts();
#pragma unroll
    for (int k = 0; k < K / 16; ++k)
        multiplyRegisters<T, D>(c, values[k], descriptor(right + k * 2 * kGroupBytes, kPanelBytes<K>));
    commitProducts();
}

/// Accumulators of a product as left factor of the next.
template <class T, int N>
__device__ inline void packRows(std::uint32_t (&to)[N / 2][4], const float (&c)[N][4]) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
        to[k][0] = packed<T>(c[2 * k][0], c[2 * k][1]);
        to[k][1] = packed<T>(c[2 * k][2], c[2 * k][3]);
        to[k][2] = packed<T>(c[2 * k + 1][0], c[2 * k + 1][1]);
        to[k][3] = packed<T>(c[2 * k + 1][2], c[2 * k + 1][3]);
    }
}

} // namespace gdt::kernels::cuda::wgmma
