// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD205
// WHY: Two models are replayed on two streams at the same time, but both were captured with the same scratch
//   buffer, which each clears and fills. Nothing orders the two.
#include "job.h"

namespace {

constexpr int kCount = 16 * 256; // few blocks: both fit on the device at once
constexpr int kSteps = 250;

__global__ void accumulate(unsigned* scratch, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        scratch[i] += scramble(in[i], 4000);
}

__global__ void finish(unsigned* out, const unsigned* scratch, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scramble(scratch[i], 4000);
}

struct Model {
    unsigned *in = nullptr, *out = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraphExec_t exec = nullptr;

    void build(unsigned* scratch, int fill) {
        CHECK(cudaMalloc(&in, kCount * sizeof(unsigned)));
        CHECK(cudaMalloc(&out, kCount * sizeof(unsigned)));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMemsetAsync(in, fill, kCount * sizeof(unsigned), stream));
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaMemsetAsync(scratch, 0, kCount * sizeof(unsigned), stream));
        for (int i = 0; i < 4; ++i)
            accumulate<<<kCount / 256, 256, 0, stream>>>(scratch, in, kCount);
        finish<<<kCount / 256, 256, 0, stream>>>(out, scratch, kCount);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaStreamSynchronize(stream));
    }
    void drop() {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
};

} // namespace

int main() {
    unsigned* scratch = nullptr;
    CHECK(cudaMalloc(&scratch, kCount * sizeof(unsigned)));
    Model models[2];
    for (int i = 0; i < 2; ++i)
        models[i].build(scratch, i + 1);
    for (int step = 0; step < kSteps; ++step) {
        for (Model& model : models)
            CHECK(cudaGraphLaunch(model.exec, model.stream)); // MARK
    }
    for (Model& model : models)
        model.drop();
    std::printf("%d steps of two models\n", kSteps);
    CHECK(cudaFree(scratch));
    return 0;
}
