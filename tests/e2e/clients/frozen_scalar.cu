// SPDX-License-Identifier: Apache-2.0
// A learning rate that falls from step to step. `broken` passes it by value, so the graph repeats the one of
// the capture; `healthy` keeps it in device memory.
#include "watchdog.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

__global__ void forward(float* weights, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        weights[i] *= 0.5F;
    }
}

__global__ void updateByValue(float* weights, int count, float rate) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        weights[i] -= rate;
    }
}

__global__ void updateByAddress(float* weights, int count, const float* rate) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        weights[i] -= *rate;
    }
}

namespace {

constexpr int kCount = 1024;
constexpr int kWarmup = 4;
constexpr int kSteps = 20;

void check(int result, const char* what) {
    if (result != 0) {
        std::printf("%s: %d\n", what, result);
        std::exit(1);
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool broken = argc < 2 || std::string(argv[1]) == "broken";
    float* weights = nullptr;
    float* rateOnDevice = nullptr;
    float* rateOnHost = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMalloc(&weights, kCount * sizeof(float)), "malloc");
    check(cudaMalloc(&rateOnDevice, sizeof(float)), "malloc");
    check(cudaMallocHost(&rateOnHost, sizeof(float)), "malloc");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    float rate = 0.1F;
    const auto step = [&] {
        forward<<<4, 256, 0, stream>>>(weights, kCount);
        if (broken) {
            updateByValue<<<4, 256, 0, stream>>>(weights, kCount, rate);
        } else {
            updateByAddress<<<4, 256, 0, stream>>>(weights, kCount, rateOnDevice);
        }
    };
    const auto schedule = [&] {
        rate *= 0.9F;
        *rateOnHost = rate;
        check(cudaMemcpyAsync(rateOnDevice, rateOnHost, sizeof rate, cudaMemcpyHostToDevice, stream), "copy");
    };
    for (int i = 0; i < kWarmup; ++i) {
        schedule();
        step();
        check(cudaStreamSynchronize(stream), "synchronize");
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
    step();
    check(cudaStreamEndCapture(stream, &graph), "end");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    for (int i = 0; i < kSteps; ++i) {
        schedule();
        check(cudaGraphLaunch(exec, stream), "launch");
    }
    check(cudaStreamSynchronize(stream), "synchronize");
    std::printf("EXPECT SELECT count(*) FROM eager_launch => %d\n", 2 * kWarmup);
    std::printf("EXPECT SELECT coalesce(max(eager_runs), 0) FROM frozen_scalar WHERE known => %d\n",
        broken ? kWarmup : 0);
    return 0;
}
