// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: The captured step allocates its result with cudaMallocAsync and never frees it: instantiated with
//   AutoFreeOnLaunch, which is made for this. The reader copies the result out in stream order before the
//   next launch; the last one is freed by the program.
#include "job.h"

namespace {
constexpr int kCount = 1 << 20;

__global__ void produce(unsigned* out, unsigned* state, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = state[i] = scramble(state[i], 1500);
}
} // namespace

int main() {
    const size_t bytes = kCount * sizeof(unsigned);
    unsigned *state = nullptr, *result = nullptr, *scratch = nullptr, *kept = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&state, bytes));
    CHECK(cudaMalloc(&kept, bytes));
    CHECK(cudaMemset(state, 0, bytes));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&scratch, bytes, stream));
    CHECK(cudaMallocAsync(&result, bytes, stream));
    produce<<<kCount / 256, 256, 0, stream>>>(scratch, state, kCount);
    produce<<<kCount / 256, 256, 0, stream>>>(result, state, kCount);
    CHECK(cudaFreeAsync(scratch, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int step = 0; step < 300; ++step) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(kept, result, bytes, cudaMemcpyDeviceToDevice, stream));
    }
    CHECK(cudaFreeAsync(result, stream));
    CHECK(cudaStreamSynchronize(stream));
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, kept, sizeof(value), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
    std::printf("value %u\n", value);
}
