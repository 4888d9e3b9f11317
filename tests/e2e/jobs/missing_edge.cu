// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD217
// WHY: A graph built by hand: the node that clears the histogram was never made a dependency of the kernel
//   that fills it. Both are roots and may run at the same time.
#include "job.h"

namespace {

constexpr int kCount = 1 << 18;
constexpr int kBins = 1 << 16;
constexpr int kReplays = 250;

__global__ void fillBins(unsigned* bins, const unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[scramble(data[i] + i, 300) % kBins], 1u);
}

__global__ void normalise(unsigned* out, const unsigned* bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = scramble(bins[i], 2000);
}

} // namespace

int main() {
    unsigned *data = nullptr, *bins = nullptr, *out = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&bins, kBins * sizeof(unsigned)));
    CHECK(cudaMalloc(&out, kBins * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(data, 1, kCount * sizeof(unsigned), stream));
    CHECK(cudaStreamSynchronize(stream));

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t cleared = nullptr, filled = nullptr, normalised = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams clear{};
    clear.dst = bins;
    clear.elementSize = 4;
    clear.width = kBins;
    clear.height = 1;
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &clear)); // MARK
    int n = kCount;
    void* fillArgs[] = {&bins, &data, &n};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(&fillBins);
    kernel.gridDim = dim3(kCount / 256);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = fillArgs;
    CHECK(cudaGraphAddKernelNode(&filled, graph, nullptr, 0, &kernel)); // MARK
    void* normaliseArgs[] = {&out, &bins};
    kernel.func = reinterpret_cast<void*>(&normalise);
    kernel.gridDim = dim3(kBins / 256);
    kernel.kernelParams = normaliseArgs;
    const cudaGraphNode_t before[] = {cleared, filled};
    CHECK(cudaGraphAddKernelNode(&normalised, graph, before, 2, &kernel));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%d replays\n", kReplays);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    for (unsigned* memory : {data, bins, out})
        CHECK(cudaFree(memory));
    return 0;
}
