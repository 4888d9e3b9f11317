// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/modelled_transfer.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 512;
constexpr int kBlocks = 16; // a block a multiprocessor: what a collective takes from the kernels beside it

__device__ std::int64_t deviceNs() {
    std::int64_t ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void __launch_bounds__(kThreads) modelledTransferKernel(ModelledTransfer::Args g) {
    const std::int64_t startNs = deviceNs();
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    constexpr std::int64_t kStride = static_cast<std::int64_t>(kBlocks) * kThreads;
    const auto* from = static_cast<const unsigned char*>(g.send);
    const bool wide = (reinterpret_cast<std::uintptr_t>(g.send) | reinterpret_cast<std::uintptr_t>(g.receive)
                          | static_cast<std::uintptr_t>(g.bytes))
            % sizeof(uint4)
        == 0;
    for (std::int64_t part = 0; from != nullptr && part < g.parts; ++part) {
        unsigned char* to = static_cast<unsigned char*>(g.receive) + part * g.bytes;
        if (to == from)
            continue;
        if (wide) {
            for (std::int64_t i = first; i < g.bytes / static_cast<std::int64_t>(sizeof(uint4)); i += kStride)
                reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
        } else {
            for (std::int64_t i = first; i < g.bytes; i += kStride)
                to[i] = from[i];
        }
    }
    while (deviceNs() - startNs < g.delayNs) { }
}

cudaError_t modelledTransfer(const ModelledTransfer::Args& g, LaunchContext& context) {
    modelledTransferKernel<<<kBlocks, kThreads, 0, context.stream>>>(g);
    return launched();
}

constexpr Launcher kTable[] = {entry<ModelledTransfer, modelledTransfer>()};

} // namespace

std::span<const Launcher> modelledLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
