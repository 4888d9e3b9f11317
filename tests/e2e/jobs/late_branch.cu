// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD104
// WHY: A fork of a fork: the copy stream is joined into the compute stream, but its checksum kernel is
//   launched after that join, so the branch ends in the air. The job goes on without a graph.
#include "job.h"

namespace {
constexpr int kCount = 1 << 18;

__global__ void work(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 100);
}

struct Pipeline {
    cudaStream_t main = nullptr, compute = nullptr, copy = nullptr;
    unsigned *a = nullptr, *b = nullptr, *c = nullptr;

    static void order(cudaStream_t after, cudaStream_t before) {
        cudaEvent_t event = nullptr;
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        CHECK(cudaEventRecord(event, before));
        CHECK(cudaStreamWaitEvent(after, event, 0));
        CHECK(cudaEventDestroy(event));
    }
    void enqueue() {
        order(compute, main);
        work<<<kCount / 256, 256, 0, compute>>>(a, kCount);
        order(copy, compute); // MARK
        work<<<kCount / 256, 256, 0, copy>>>(b, kCount);
        order(compute, copy);
        work<<<kCount / 256, 256, 0, copy>>>(c, kCount); // MARK
        work<<<kCount / 256, 256, 0, compute>>>(b, kCount);
        order(main, compute);
    }
};
} // namespace

int main() {
    Pipeline line;
    for (cudaStream_t* stream : {&line.main, &line.compute, &line.copy})
        CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (unsigned** buffer : {&line.a, &line.b, &line.c}) {
        CHECK(cudaMalloc(buffer, kCount * sizeof(unsigned)));
        CHECK(cudaMemset(*buffer, 0, kCount * sizeof(unsigned)));
    }
    line.enqueue();
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(line.main, cudaStreamCaptureModeThreadLocal));
    line.enqueue();
    const bool captured = cudaStreamEndCapture(line.main, &graph) == cudaSuccess; // MARK
    cudaGetLastError();
    for (int step = 0; step < 100; ++step)
        line.enqueue();
    CHECK(cudaDeviceSynchronize());
    std::printf("captured %d\n", captured);
}
