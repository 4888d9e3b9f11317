// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD215
// WHY: When the refinement level changes, the new step has one kernel more. The update of the executable is
//   refused, nobody looks at its result, and the old step is replayed for the rest of the run.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;
constexpr int kSteps = 400;

__global__ void smooth(unsigned* field, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i], 1500);
}

__global__ void countStep(unsigned* kernels) {
    ++*kernels;
}

cudaGraph_t record(cudaStream_t stream, unsigned* field, unsigned* kernels, int levels) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int level = 0; level < levels; ++level) {
        smooth<<<kCount / 256, 256, 0, stream>>>(field, kCount);
        countStep<<<1, 1, 0, stream>>>(kernels);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

} // namespace

int main() {
    unsigned *field = nullptr, *kernels = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&kernels, sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(field, 2, kCount * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(kernels, 0, sizeof(unsigned), stream));
    cudaGraph_t graph = record(stream, field, kernels, 3);
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps / 2) {
            graph = record(stream, field, kernels, 4);
            cudaGraphExecUpdateResultInfo info{};
            cudaGraphExecUpdate(exec, graph, &info); // MARK
            cudaGetLastError();
            CHECK(cudaGraphDestroy(graph));
        }
        CHECK(cudaGraphLaunch(exec, stream));
    }
    unsigned ran = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&ran, kernels, sizeof ran, cudaMemcpyDeviceToHost));
    std::printf("%u smoothing kernels, %d wanted\n", ran, kSteps / 2 * 3 + kSteps / 2 * 4);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(kernels));
    CHECK(cudaFree(field));
    return 0;
}
