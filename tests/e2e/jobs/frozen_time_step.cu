// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD201
// WHY: The source term takes the simulated time by value. In the eager spin-up it advances; the captured
//   step keeps the time of the capture for all 300 replays, though the host goes on counting.
#include "job.h"

namespace {
constexpr int kCount = 1 << 20;

struct Clock {
    double time = 0;
    double dt = 0.125;
    void tick() { time += dt; }
};

__global__ void source(float* field, double time, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] += 0.001F * __sinf(static_cast<float>(time) + 0.01F * static_cast<float>(i));
}

__global__ void diffuse(float* out, const float* in, float rate, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        out[i] = in[i] + rate * (in[i - 1] - 2 * in[i] + in[i + 1]);
}

void step(float* field, float* next, const Clock& clock, cudaStream_t stream) {
    source<<<kCount / 256, 256, 0, stream>>>(field, clock.time, kCount); // MARK
    for (int i = 0; i < 8; ++i) {
        diffuse<<<kCount / 256, 256, 0, stream>>>(next, field, 0.1F, kCount);
        diffuse<<<kCount / 256, 256, 0, stream>>>(field, next, 0.1F, kCount);
    }
}
} // namespace

int main() {
    float *field = nullptr, *next = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCount * sizeof(float)));
    CHECK(cudaMalloc(&next, kCount * sizeof(float)));
    CHECK(cudaMemset(field, 0, kCount * sizeof(float)));
    CHECK(cudaMemset(next, 0, kCount * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Clock clock;
    for (int i = 0; i < 6; ++i, clock.tick())
        step(field, next, clock, stream);
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    step(field, next, clock, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 300; ++i, clock.tick())
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("simulated until %.3f\n", clock.time);
}
