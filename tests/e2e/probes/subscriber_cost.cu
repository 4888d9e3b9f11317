// SPDX-License-Identifier: Apache-2.0
// Replays of 200 tiny and 200 short kernels while subscriber_cost.cpp does what GD_PROBE asks at each stage:
// start (before cuInit), init, context, memory, stream, loaded (after a first kernel), capture (before the
// instantiate), exec (after it), warm (after the warm-up). Prints per graph the medians: one replay waited
// for, the launch call alone, one replay of twenty launched back to back (device time).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void work(float* data, int rounds) {
    float value = data[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < rounds; ++i) {
        value = value * 0.999F + 0.5F;
    }
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void nothing() { }

using Stage = void(const char*);
static Stage* g_stage = nullptr;

static void stage(const char* name) {
    if (g_stage != nullptr) {
        g_stage(name);
    }
}

static double nowUs() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static double median(std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

static void measure(const char* name, cudaGraphExec_t exec, cudaStream_t stream, int replays) {
    std::vector<double> wall;
    std::vector<double> launch;
    std::vector<double> device;
    for (int i = 0; i < replays; ++i) {
        const double start = nowUs();
        cudaGraphLaunch(exec, stream);
        const double launched = nowUs();
        cudaStreamSynchronize(stream);
        wall.push_back(nowUs() - start);
        launch.push_back(launched - start);
    }
    cudaEvent_t from = nullptr;
    cudaEvent_t to = nullptr;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    for (int i = 0; i < 8; ++i) {
        cudaEventRecord(from, stream);
        for (int k = 0; k < 20; ++k) {
            cudaGraphLaunch(exec, stream);
        }
        cudaEventRecord(to, stream);
        cudaStreamSynchronize(stream);
        float ms = 0;
        cudaEventElapsedTime(&ms, from, to);
        device.push_back(static_cast<double>(ms) * 1000 / 20);
    }
    std::printf("%s %.2f %.2f %.2f ", name, median(wall), median(launch), median(device));
}

int main() {
    if (const char* library = std::getenv("GD_PROBE_LIBRARY")) {
        void* handle = dlopen(library, RTLD_NOW);
        g_stage = handle != nullptr ? reinterpret_cast<Stage*>(dlsym(handle, "gd_probe_stage")) : nullptr;
    }
    stage("start");
    int devices = 0;
    cudaGetDeviceCount(&devices);
    stage("init");
    cudaFree(nullptr);
    stage("context");
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaMalloc(&data, 1024 * sizeof(float));
    stage("memory");
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    stage("stream");
    work<<<8, 128, 0, stream>>>(data, 1);
    cudaStreamSynchronize(stream);
    stage("loaded");
    // The same tiny kernels on other memory, and kernels that touch none: is it the launch or the memory?
    float* block = nullptr;
    float* host = nullptr;
    cudaMalloc(&block, 64 << 20);
    cudaMallocHost(&host, 4096);
    constexpr int kGraphs = 5;
    const char* const names[kGraphs] = {"tiny", "short", "other", "middle", "empty"};
    const int rounds[kGraphs] = {1, 250, 1, 1, 0};
    float* memory[kGraphs] = {data, data, block, block + (8 << 20), nullptr};
    cudaGraph_t graphs[kGraphs] = {};
    cudaGraphExec_t execs[kGraphs] = {};
    nothing<<<8, 128, 0, stream>>>();
    cudaStreamSynchronize(stream);
    for (int g = 0; g < kGraphs; ++g) {
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        for (int i = 0; i < 200; ++i) {
            if (memory[g] != nullptr) {
                work<<<8, 128, 0, stream>>>(memory[g], rounds[g]);
            } else {
                nothing<<<8, 128, 0, stream>>>();
            }
        }
        cudaStreamEndCapture(stream, &graphs[g]);
    }
    stage("capture");
    for (int g = 0; g < kGraphs; ++g) {
        cudaGraphInstantiate(&execs[g], graphs[g], 0);
    }
    stage("exec");
    for (int i = 0; i < 150; ++i) {
        cudaGraphLaunch(execs[0], stream);
        cudaGraphLaunch(execs[1], stream);
        cudaStreamSynchronize(stream);
    }
    stage("warm");
    for (int g = 0; g < kGraphs; ++g) {
        measure(names[g], execs[g], stream, g < 2 ? 250 : 50);
    }
    const cudaError_t result = cudaDeviceSynchronize();
    std::printf("result %d\n", static_cast<int>(result));
    std::fflush(stdout);
    return 0;
}
