// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: The right way to frozen_time_step: the time lives on the device and a kernel of the step advances
//   it. In the eager spin-up the time step itself was ramped (a changing number by value) until it
//   reached its final value; it stayed there for the last eager steps and for all replays, so nothing is
//   frozen that still moves.
#include "job.h"

namespace {
constexpr int kCount = 1 << 22;

__global__ void tick(double* time, double dt) {
    *time += dt;
}

__global__ void source(float* field, const double* time, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] += 0.001F * __sinf(static_cast<float>(*time) + 0.01F * static_cast<float>(i));
}

__global__ void diffuse(float* out, const float* in, float rate, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        out[i] = in[i] + rate * (in[i - 1] - 2 * in[i] + in[i + 1]);
}

void step(float* field, float* next, double* time, double dt, cudaStream_t stream) {
    tick<<<1, 1, 0, stream>>>(time, dt);
    source<<<kCount / 256, 256, 0, stream>>>(field, time, kCount);
    for (int i = 0; i < 8; ++i) {
        diffuse<<<kCount / 256, 256, 0, stream>>>(next, field, 0.1F, kCount);
        diffuse<<<kCount / 256, 256, 0, stream>>>(field, next, 0.1F, kCount);
    }
}
} // namespace

int main() {
    float *field = nullptr, *next = nullptr;
    double *time = nullptr, until = 0;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCount * sizeof(float)));
    CHECK(cudaMalloc(&next, kCount * sizeof(float)));
    CHECK(cudaMalloc(&time, sizeof(double)));
    CHECK(cudaMemset(field, 0, kCount * sizeof(float)));
    CHECK(cudaMemset(next, 0, kCount * sizeof(float)));
    CHECK(cudaMemset(time, 0, sizeof(double)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 12; ++i)
        step(field, next, time, i < 5 ? 0.015625 * (1 + i) : 0.125, stream);
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    step(field, next, time, 0.125, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 400; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&until, time, sizeof(until), cudaMemcpyDeviceToHost));
    std::printf("simulated until %.6f\n", until);
}
