// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

#include <cstdint>

// Tiles in shared memory and the warp-wide matrix instructions (PTX ISA: ldmatrix, mma.m16n8k16, cp.async).
//
// A tile has R rows of D bf16 or f16 values. Its 16-byte chunks are permuted within groups of eight by the
// row, so that eight rows read at one chunk meet all banks.
//
// Accumulators of one m16n8 product: lane l holds row l/4, columns 2(l%4) and +1, then the same of row l/4
// + 8.
namespace gdt::kernels::cuda {

template <int D> __device__ inline std::uint32_t chunkAddress(std::uint32_t tile, int row, int chunk) {
    return tile + static_cast<std::uint32_t>(row * D * 2 + ((chunk ^ (row & 7)) * 16));
}

/// Tiles whose rows lie one after the other.
template <int D> struct RowLayout {
    static __device__ std::uint32_t at(std::uint32_t tile, int row, int chunk) {
        return chunkAddress<D>(tile, row, chunk);
    }
};

__device__ inline std::uint32_t sharedAddress(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void copyChunk(std::uint32_t to, const void* from, bool exists) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(exists ? 16 : 0));
}
__device__ inline void commitCopies() {
    asm volatile("cp.async.commit_group;\n");
}
/// Waits until at most N of the groups that this thread committed are under way.
template <int N> __device__ inline void waitForCopies() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

/// Starts to copy R rows of a (sample, head) into a tile; rows from `end` on become zero.
template <class Layout, int R, int D, int THREADS, class T>
__device__ inline void copyTile(
    std::uint32_t tile, const T* from, std::int64_t step, std::int64_t first, std::int64_t end) {
    constexpr int kChunks = D / 8;
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < R * kChunks; i += THREADS) {
        const int row = i / kChunks;
        const int chunk = i % kChunks;
        const bool exists = first + row < end;
        const std::int64_t source = exists ? first + row : 0;
        copyChunk(Layout::at(tile, row, chunk), from + source * step + chunk * 8, exists);
    }
}

__device__ inline void loadMatrices(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}
__device__ inline void loadTransposed(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}

/// The 16 x 16 block of a tile at (row, 16 * k) as left factor.
template <int D>
__device__ inline void loadLeft(std::uint32_t (&r)[4], std::uint32_t tile, int row, int k, int lane) {
    loadMatrices(r, chunkAddress<D>(tile, row + (lane & 15), 2 * k + (lane >> 4)));
}
/// Right factors for products over a tile's columns: rows row..row+15 become 16 columns of the product, as
/// two pairs of registers.
template <int D>
__device__ inline void loadRightOfRows(std::uint32_t (&r)[4], std::uint32_t tile, int row, int k, int lane) {
    loadMatrices(r, chunkAddress<D>(tile, row + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
}
/// Right factors for products over a tile's rows: columns 16 n .. 16 n + 15 stay columns, rows row..row+15
/// are summed over.
template <int D>
__device__ inline void loadRightOfColumns(
    std::uint32_t (&r)[4], std::uint32_t tile, int row, int n, int lane) {
    loadTransposed(r, chunkAddress<D>(tile, row + (lane & 15), 2 * n + (lane >> 4)));
}

template <class T>
__device__ inline void multiplyAdd(
    float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    if constexpr (std::is_same_v<T, Float16>) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};\n"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
        return;
    }
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two floats rounded to T, the first in the lower half.
template <class T> __device__ inline std::uint32_t packed(float low, float high) {
    std::uint32_t r;
    if constexpr (std::is_same_v<T, Float16>) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(r) : "f"(high), "f"(low));
        return r;
    }
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/// acc[row block 16, N columns] += left tile rows (leftRow..) times right tile rows, over D.
template <class T, int D, int N>
__device__ inline void multiplyRows(
    float (&acc)[N / 8][4], std::uint32_t left, int leftRow, std::uint32_t right, int lane) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
        std::uint32_t a[4];
        loadLeft<D>(a, left, leftRow, k, lane);
#pragma unroll
        for (int n = 0; n < N / 16; ++n) {
            std::uint32_t b[4];
            loadRightOfRows<D>(b, right, 16 * n, k, lane);
            multiplyAdd<T>(acc[2 * n], a, b[0], b[1]);
            multiplyAdd<T>(acc[2 * n + 1], a, b[2], b[3]);
        }
    }
}

/// acc[16, D] += values[16, K] (accumulators rounded to T) times right tile[K, D].
template <class T, int D, int K>
__device__ inline void multiplyColumns(
    float (&acc)[D / 8][4], const float (&values)[K / 8][4], std::uint32_t right, int lane) {
#pragma unroll
    for (int k = 0; k < K / 16; ++k) {
        const std::uint32_t a[4]
            = {packed<T>(values[2 * k][0], values[2 * k][1]), packed<T>(values[2 * k][2], values[2 * k][3]),
                packed<T>(values[2 * k + 1][0], values[2 * k + 1][1]),
                packed<T>(values[2 * k + 1][2], values[2 * k + 1][3])};
#pragma unroll
        for (int n = 0; n < D / 16; ++n) {
            std::uint32_t b[4];
            loadRightOfColumns<D>(b, right, 16 * k, n, lane);
            multiplyAdd<T>(acc[2 * n], a, b[0], b[1]);
            multiplyAdd<T>(acc[2 * n + 1], a, b[2], b[3]);
        }
    }
}

/// Writes a warp's 16 rows of accumulators, times `upper` (rows 0-7) and `lower` (rows 8-15), through the 16
/// rows of a tile that only this warp uses, to memory in whole chunks.
template <class Layout, int D, class T>
__device__ inline void storeRows(const float (&acc)[D / 8][4], float upper, float lower, unsigned char* tile,
    int tileRow, T* to, std::int64_t step, std::int64_t first, std::int64_t end, int lane) {
    const std::uint32_t address = sharedAddress(tile);
    const auto put = [&](int row, int n, std::uint32_t value) {
        const std::uint32_t place = Layout::at(address, tileRow + row, n) + (lane % 4) * 4;
        asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(place), "r"(value) : "memory");
    };
    __syncwarp();
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
        put(lane / 4, n, packed<T>(acc[n][0] * upper, acc[n][1] * upper));
        put(lane / 4 + 8, n, packed<T>(acc[n][2] * lower, acc[n][3] * lower));
    }
    __syncwarp();
    constexpr int kChunks = D / 8;
#pragma unroll
    for (int i = lane; i < 16 * kChunks; i += 32) {
        const int row = i / kChunks;
        if (first + row >= end)
            continue;
        const std::uint32_t offset = Layout::at(0, tileRow + row, i % kChunks);
        *reinterpret_cast<uint4*>(to + (first + row) * step + i % kChunks * 8)
            = *reinterpret_cast<const uint4*>(tile + offset);
    }
}

} // namespace gdt::kernels::cuda
