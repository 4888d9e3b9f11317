// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common.cuh"

#include <span>

namespace gdt::kernels::cuda {

// One table a source file; findLauncher() looks through all of them.
[[nodiscard]] std::span<const Launcher> attentionLaunchers();
[[nodiscard]] std::span<const Launcher> crossEntropyLaunchers();
[[nodiscard]] std::span<const Launcher> dropoutLaunchers();
[[nodiscard]] std::span<const Launcher> elementwiseLaunchers();
[[nodiscard]] std::span<const Launcher> embeddingLaunchers();
[[nodiscard]] std::span<const Launcher> fp8Launchers();
[[nodiscard]] std::span<const Launcher> gemmLaunchers();
[[nodiscard]] std::span<const Launcher> modelledLaunchers();
[[nodiscard]] std::span<const Launcher> normLaunchers();
[[nodiscard]] std::span<const Launcher> optimizerLaunchers();
[[nodiscard]] std::span<const Launcher> ringAttentionLaunchers();
[[nodiscard]] std::span<const Launcher> swigluLaunchers();
[[nodiscard]] std::span<const Launcher> vocabParallelLaunchers();

/// out[c] += sum of partial[p, c] over p in order; 32 columns a block of 256 threads, which take every eighth
/// p each and add their eight sums in order.
template <class W>
__global__ void __launch_bounds__(256)
    addPartials(const W* partial, W* out, std::int64_t count, std::int64_t columns) {
    __shared__ W shared[8][32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int part = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
    W sum = 0;
    if (column < columns) {
        for (std::int64_t p = part; p < count; p += 8)
            sum += partial[p * columns + column];
    }
    shared[part][lane] = sum;
    __syncthreads();
    if (part != 0 || column >= columns)
        return;
    for (int p = 1; p < 8; ++p)
        sum += shared[p][lane];
    out[column] += sum;
}

} // namespace gdt::kernels::cuda
