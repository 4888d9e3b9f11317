// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD217
// WHY: Two solvers bring captured graphs of their own, both with the workspace of the shared context. Put
//   into the step as child graphs without a dependency, they run side by side and overwrite each other's
//   intermediate values.
#include "job.h"

namespace {
constexpr int kCount = 16 * 256;
constexpr int kSteps = 250;

__global__ void fill(unsigned* workspace, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        workspace[i] = scramble(in[i], 3000);
}

__global__ void use(unsigned* out, const unsigned* workspace, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += scramble(workspace[n - 1 - i], 3000);
}

unsigned* buffer() {
    unsigned* data = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(unsigned)));
    return data;
}

cudaGraph_t solver(unsigned* workspace, cudaStream_t stream) {
    unsigned *in = buffer(), *out = buffer();
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    fill<<<kCount / 256, 256, 0, stream>>>(workspace, in, kCount); // MARK
    use<<<kCount / 256, 256, 0, stream>>>(out, workspace, kCount); // MARK
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}
} // namespace

int main() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* workspace = buffer();
    cudaGraph_t flow = solver(workspace, stream);
    cudaGraph_t heat = solver(workspace, stream);
    cudaGraph_t step = nullptr;
    cudaGraphNode_t flowNode = nullptr, heatNode = nullptr;
    CHECK(cudaGraphCreate(&step, 0));
    CHECK(cudaGraphAddChildGraphNode(&flowNode, step, nullptr, 0, flow)); // MARK
    CHECK(cudaGraphAddChildGraphNode(&heatNode, step, nullptr, 0, heat)); // MARK
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, step, 0));
    for (int i = 0; i < kSteps; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("steps %d\n", kSteps);
}
