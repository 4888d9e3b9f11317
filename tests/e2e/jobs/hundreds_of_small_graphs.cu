// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD308
// ALONE: idle time of the device is what is judged
// WHY: A stencil on 200 patches of a mesh. Each patch has a graph of its own, two kernels of a microsecond,
// and
//   a step launches all of them one after another: the launches take longer than the kernels. One graph of
//   the step, or the patches as its child graphs, would be one launch.
#include "job.h"

#include <vector>

namespace {
constexpr int kPatches = 200;
constexpr int kSteps = 150;
constexpr int kMostCells = 64 + kPatches; // a patch has 64 and more, each another number

__global__ void advance(unsigned* out, const unsigned* in, int cells) {
    const int i = threadIdx.x;
    out[i] = in[(i + 1) % cells] + in[(i + cells - 1) % cells];
}

__global__ void store(unsigned* out, const unsigned* in) {
    out[threadIdx.x] = in[threadIdx.x] % 65521u;
}
} // namespace

int main() {
    const size_t bytes = sizeof(unsigned) * kPatches * kMostCells;
    unsigned *cells = nullptr, *next = nullptr;
    CHECK(cudaMalloc(&cells, bytes));
    CHECK(cudaMalloc(&next, bytes));
    CHECK(cudaMemset(cells, 1, bytes));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<cudaGraphExec_t> patches;
    for (int patch = 0; patch < kPatches; ++patch) {
        unsigned *own = cells + patch * kMostCells, *scratch = next + patch * kMostCells;
        const int count = 64 + patch;
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); // MARK
        advance<<<1, count, 0, stream>>>(scratch, own, count);
        store<<<1, count, 0, stream>>>(own, scratch);
        CHECK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExec_t exec = nullptr;
        CHECK(cudaGraphInstantiate(&exec, graph, 0)); // MARK
        CHECK(cudaGraphDestroy(graph));
        patches.push_back(exec);
    }
    for (int step = 0; step < kSteps; ++step) {
        for (const cudaGraphExec_t patch : patches)
            CHECK(cudaGraphLaunch(patch, stream)); // MARK
    }
    CHECK(cudaStreamSynchronize(stream));
    std::vector<unsigned> values(kPatches * kMostCells);
    CHECK(cudaMemcpy(values.data(), cells, bytes, cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (const unsigned value : values)
        sum += value;
    std::printf("sum %llu\n", sum);
}
