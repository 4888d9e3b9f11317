// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD305
// WHY: The particle step is captured and instantiated anew in each of 300 steps, launched once, and dropped
//   four steps later, though nothing in it ever changes.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;
constexpr int kSteps = 300;
constexpr int kAlive = 4;

__global__ void move(unsigned* particles, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        particles[i] = scramble(particles[i], 500);
}

struct Launched {
    cudaGraphExec_t exec = nullptr;
    cudaEvent_t done = nullptr;
};

} // namespace

int main() {
    unsigned* particles = nullptr;
    cudaStream_t stream = nullptr;
    Launched ring[kAlive];
    CHECK(cudaMalloc(&particles, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(particles, 8, kCount * sizeof(unsigned), stream));
    for (Launched& one : ring)
        CHECK(cudaEventCreateWithFlags(&one.done, cudaEventDisableTiming));
    for (int step = 0; step < kSteps; ++step) {
        Launched& one = ring[step % kAlive];
        if (one.exec != nullptr) {
            CHECK(cudaEventSynchronize(one.done));
            CHECK(cudaGraphExecDestroy(one.exec));
        }
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); // MARK
        for (int i = 0; i < 12; ++i)
            move<<<kCount / 256, 256, 0, stream>>>(particles, kCount);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&one.exec, graph, 0)); // MARK
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(one.exec, stream));
        CHECK(cudaEventRecord(one.done, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    unsigned first = 0;
    CHECK(cudaMemcpy(&first, particles, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("%d steps, particle %08x (expected %08x)\n", kSteps, first,
        scrambleOnHost(0x08080808u, 500 * 12 * kSteps));
    for (Launched& one : ring) {
        CHECK(cudaGraphExecDestroy(one.exec));
        CHECK(cudaEventDestroy(one.done));
    }
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(particles));
    return 0;
}
