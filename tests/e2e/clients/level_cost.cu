// SPDX-License-Identifier: Apache-2.0
// What recording costs a replay. Usage: level_cost LEVEL [ROUNDS [KERNEL_LOOPS]]
// A graph of 200 short kernels; in each round recording off, then at LEVEL, through the job's own control
// page. Two figures each: one replay waited for (median of 300), and one of replays queued back to back (as a
// job that does not wait sees it). Prints them on standard error: `cost LEVEL waited RATIO MIN MAX off_us N
// queued RATIO MIN MAX off_us N`. Without a control page both halves are the same; LEVEL `bare` says so.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "control_page.h"
#include "watchdog.h"

#include <cuda_runtime.h>

__global__ void spin(float* data, int loops) {
    float value = data[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < loops; ++i) {
        value = value * 0.999F + 0.5F;
    }
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static double nowUs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Times {
    double waitedUs;
    double queuedUs;
};

static Times measure(cudaStream_t stream, cudaGraphExec_t exec) {
    std::vector<double> waited;
    for (int i = 0; i < 330; ++i) {
        const double start = nowUs();
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        if (i >= 30) {
            waited.push_back(nowUs() - start);
        }
    }
    std::vector<double> queued;
    for (int i = 0; i < 7; ++i) {
        const double start = nowUs();
        for (int k = 0; k < 40; ++k) {
            cudaGraphLaunch(exec, stream);
        }
        cudaStreamSynchronize(stream);
        queued.push_back((nowUs() - start) / 40);
    }
    return {median(waited), median(queued)};
}

static void print(const char* what, const std::vector<double>& ratios, const std::vector<double>& off) {
    std::fprintf(stderr, " %s %.4f %.4f %.4f off_us %.1f", what, median(ratios),
        *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()),
        median(off));
}

int main(int argc, char** argv) {
    const char* const names[] = {"off", "history", "light", "standard", "full"};
    const char* wanted = argc > 1 ? argv[1] : "standard";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    const int loops = argc > 3 ? std::atoi(argv[3]) : 365;
    std::uint32_t level = 0;
    for (std::uint32_t i = 0; i < 5; ++i) {
        level = std::strcmp(names[i], wanted) == 0 ? i : level;
    }
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaMalloc(&data, 1024 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    spin<<<8, 128, 0, stream>>>(data, 1);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < 200; ++i) {
        spin<<<8, 128, 0, stream>>>(data, loops);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    measure(stream, exec);
    ControlPage page;
    std::vector<double> waited;
    std::vector<double> queued;
    std::vector<double> offWaited;
    std::vector<double> offQueued;
    for (int round = 0; round < rounds; ++round) {
        page.setLevel(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(120));
        const Times off = measure(stream, exec);
        page.setLevel(level);
        std::this_thread::sleep_for(std::chrono::milliseconds(120));
        const Times on = measure(stream, exec);
        waited.push_back(on.waitedUs / off.waitedUs);
        queued.push_back(on.queuedUs / off.queuedUs);
        offWaited.push_back(off.waitedUs);
        offQueued.push_back(off.queuedUs);
    }
    std::fprintf(stderr, "cost %s", wanted);
    print("waited", waited, offWaited);
    print("queued", queued, offQueued);
    std::fprintf(stderr, "\n");
    cudaGraphExecDestroy(exec);
    const cudaError_t result = cudaDeviceSynchronize();
    std::printf("result %d\n", static_cast<int>(result));
    return result == cudaSuccess ? 0 : 1;
}
