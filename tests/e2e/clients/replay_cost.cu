// SPDX-License-Identifier: Apache-2.0
// How long a replay of 200 short kernels takes, and an eager step of 200 launches: medians of 2,000 and 300,
// each waited for. Prints them on standard error as `replay_us N eager_us N`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void addOne(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F;
}

static constexpr int kKernels = 200;

static void step(float* data, cudaStream_t stream) {
    for (int i = 0; i < kKernels; ++i) {
        addOne<<<8, 128, 0, stream>>>(data);
    }
}

template <class Run> static double medianUs(int rounds, cudaStream_t stream, Run run) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        cudaStreamSynchronize(stream);
        times.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

int main() {
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaMalloc(&data, 1024 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    step(data, stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step(data, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    medianUs(200, stream, [&] { cudaGraphLaunch(exec, stream); });
    const double replay = medianUs(2000, stream, [&] { cudaGraphLaunch(exec, stream); });
    const double eager = medianUs(300, stream, [&] { step(data, stream); });
    std::fprintf(stderr, "replay_us %.2f eager_us %.2f\n", replay, eager);
    const cudaError_t result = cudaDeviceSynchronize();
    std::printf("%d\n", static_cast<int>(result));
    return result == cudaSuccess ? 0 : 1;
}
