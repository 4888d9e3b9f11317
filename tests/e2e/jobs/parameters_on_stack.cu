// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD115
// WHY: The function that captures the step uploads its parameters from a variable on its own stack. When it
//   has returned, each replay copies whatever lies there by then.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;
constexpr int kReplays = 250;

struct Physics {
    int rounds[64];
    float gravity;
};

__global__ void integrate(unsigned* field, const Physics* physics, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i], 2000 + (physics->rounds[i % 64] & 0xff));
}

__attribute__((noinline)) cudaGraphExec_t prepare(cudaStream_t stream, unsigned* field, Physics* onDevice) {
    Physics physics{};
    for (int& rounds : physics.rounds)
        rounds = 8;
    physics.gravity = 9.81f;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(onDevice, &physics, sizeof physics, cudaMemcpyHostToDevice, stream)); // MARK
    for (int i = 0; i < 4; ++i)
        integrate<<<kCount / 256, 256, 0, stream>>>(field, onDevice, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

} // namespace

int main() {
    unsigned* field = nullptr;
    Physics* onDevice = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&onDevice, sizeof *onDevice));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(field, 1, kCount * sizeof(unsigned), stream));
    CHECK(cudaStreamSynchronize(stream));
    const cudaGraphExec_t exec = prepare(stream, field, onDevice);
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%d replays\n", kReplays);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(onDevice));
    CHECK(cudaFree(field));
    return 0;
}
