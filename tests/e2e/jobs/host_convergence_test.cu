// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD302
// WHY: An iteration of some 100 us is a graph; after each replay the host waits for the residuals and adds
//   them up itself before it launches the next one. The device has nothing to do meanwhile.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;
constexpr int kSteps = 300;

__global__ void jacobi(unsigned* field, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i], 1500);
}

unsigned converged(const unsigned* residuals) {
    unsigned sum = 0;
    for (int i = 0; i < kCount; ++i)
        sum = scrambleOnHost(sum ^ residuals[i], 2);
    return sum;
}

} // namespace

int main() {
    unsigned *field = nullptr, *residuals = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCount * sizeof(unsigned)));
    CHECK(cudaMallocHost(&residuals, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(field, 6, kCount * sizeof(unsigned), stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 4; ++i)
        jacobi<<<kCount / 256, 256, 0, stream>>>(field, kCount);
    CHECK(cudaMemcpyAsync(residuals, field, kCount * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    unsigned norm = 1;
    int steps = 0;
    for (; steps < kSteps && norm != 0; ++steps) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream)); // MARK
        norm = converged(residuals);
    }
    std::printf("%d steps, norm %08x\n", steps, norm);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(residuals));
    CHECK(cudaFree(field));
    return 0;
}
