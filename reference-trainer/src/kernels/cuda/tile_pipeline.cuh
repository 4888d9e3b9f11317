// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/mma.cuh"

#include <cuda.h>

// Tiles that the copy engine brings while others multiply (PTX ISA: cp.async.bulk.tensor, mbarrier), for code
// compiled for sm_90a. A warp of the block asks for tiles; a barrier in shared memory tells when one is
// there, another when all who read it are done.
namespace gdt::kernels::cuda {

/// Rows and columns of a box that one request copies: a row of 128 bytes is what the permutation of
/// wgmma.cuh works on.
constexpr int kBoxRows = 64;
constexpr int kBoxColumns = 64;
constexpr int kBoxBytes = kBoxRows * kBoxColumns * 2;

/// Describes a matrix of bf16 or f16 values to the copy engine. `from` and a row's `step` (in elements) are
/// multiples of 16 bytes. Rows from `rows` on are copied as zeros. Needs no stream, so that it may be called
/// during a capture.
template <class T>
cudaError_t describeMatrix(
    CUtensorMap& map, const T* from, std::int64_t rows, std::int64_t columns, std::int64_t step) {
    using Encode = decltype(&cuTensorMapEncodeTiled);
    static const Encode encode = [] {
        void* found = nullptr;
        cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
        const cudaError_t error = cudaGetDriverEntryPointByVersion(
            "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
        return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(found)
                                                                             : nullptr;
    }();
    if (encode == nullptr)
        return cudaErrorCallRequiresNewerDriver;
    const cuuint64_t size[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t stepBytes[] = {static_cast<cuuint64_t>(step) * sizeof(T)};
    const cuuint32_t box[] = {kBoxColumns, kBoxRows};
    const cuuint32_t each[] = {1, 1};
    constexpr auto kType
        = std::is_same_v<T, Float16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const CUresult status = encode(&map, kType, 2, const_cast<T*>(from), size, stepBytes, box, each,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

/// A barrier in shared memory whose phases end when all `arrivals` and all expected bytes are there.
using TileBarrier = std::uint64_t;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ inline void startBarrier(TileBarrier& barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(sharedAddress(&barrier)), "r"(arrivals)
                 : "memory");
}
__device__ inline void arriveAt(TileBarrier& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(sharedAddress(&barrier)) : "memory");
}
/// Arrives, and makes the phase wait for so many bytes more.
__device__ inline void expectBytes(TileBarrier& barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(sharedAddress(&barrier)), "r"(bytes)
        : "memory");
}
__device__ inline bool hasPassed(TileBarrier& barrier, std::uint32_t parity) {
    std::uint32_t passed;
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}\n"
                 : "=r"(passed)
                 : "r"(sharedAddress(&barrier)), "r"(parity)
                 : "memory");
    return passed != 0;
}
/// Waits until the phase of this parity has ended.
__device__ inline void waitFor(TileBarrier& barrier, std::uint32_t parity) {
    while (!hasPassed(barrier, parity)) { }
}

/// A ring of N tiles: which one is next, and the parity of its phase.
template <int N> struct RingPlace {
    std::uint32_t stage = 0;
    std::uint32_t parity = 0;

    __device__ void advance() {
        if (++stage == N) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/// Copies the box of a matrix that begins at (row, column) and counts its bytes at `barrier`.
__device__ inline void copyBox(
    void* to, const CUtensorMap& from, std::int32_t row, std::int32_t column, TileBarrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3}], [%4];\n" ::"r"(sharedAddress(to)),
                 "l"(reinterpret_cast<std::uint64_t>(&from)), "r"(column), "r"(row),
                 "r"(sharedAddress(&barrier))
                 : "memory");
}

/// Copies R rows of D columns into a tile of the layout PanelLayout<R>.
template <int R, int D>
__device__ inline void copyBoxes(
    unsigned char* to, const CUtensorMap& from, std::int32_t row, std::int32_t column, TileBarrier& barrier) {
    expectBytes(barrier, R * D * 2);
#pragma unroll
    for (int panel = 0; panel < D / kBoxColumns; ++panel) {
#pragma unroll
        for (int part = 0; part < R / kBoxRows; ++part) {
            copyBox(to + (panel * (R / kBoxRows) + part) * kBoxBytes, from, row + part * kBoxRows,
                column + panel * kBoxColumns, barrier);
        }
    }
}

/// Barriers of the block by number: `threads` in all come to it, those that wait and those that only arrive.
__device__ inline void waitAtBarrier(int number, int threads) {
    asm volatile("bar.sync %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}
__device__ inline void arriveAtBarrier(int number, int threads) {
    asm volatile("bar.arrive %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}

/// Registers of each thread of a warpgroup from here on.
template <int N> __device__ inline void takeRegisters() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(N));
}
template <int N> __device__ inline void giveRegisters() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(N));
}

#endif

} // namespace gdt::kernels::cuda
