// SPDX-License-Identifier: Apache-2.0
// What must not crash under graph-level tracing. Usage: graph_trace CASE
//   liveAllocations   relaunches an executable whose allocation nodes are still live: the launch fails with
//   1, the
//                     process lives on (with GRAPH_TRACE on it would end in SIGSEGV)
//   autoFree          the same with AUTO_FREE_ON_LAUNCH: all launches succeed
//   toggle            1,000 launches of executables that come and go while a thread changes the recording
//   level
//                     every few milliseconds through the job's own control page; bare, the same calls
//   pairs             new pairs of executables, each launched by turns without a pause, so that a change of
//                     level always meets queued replays
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "control_page.h"
#include "watchdog.h"

#include <cuda_runtime.h>

__global__ void spin(float* data, int rounds) {
    float value = data[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < rounds; ++i) {
        value = value * 0.999F + 0.5F;
    }
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static cudaGraphExec_t captured(cudaStream_t stream, float* data, int kernels, int rounds) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < kernels; ++i) {
        spin<<<8, 128, 0, stream>>>(data, rounds);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    return exec;
}

static int allocations(cudaStream_t stream, unsigned flags) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    void* memory = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaMallocAsync(&memory, 1 << 20, stream);
    cudaMemsetAsync(memory, 0, 1 << 20, stream);
    cudaStreamEndCapture(stream, &graph);
    const int instantiated = cudaGraphInstantiateWithFlags(&exec, graph, flags);
    std::printf("instantiate %d\n", instantiated);
    bool right = instantiated == cudaSuccess;
    for (int i = 0; i < 3; ++i) {
        const int launched = cudaGraphLaunch(exec, stream);
        const int waited = cudaStreamSynchronize(stream);
        std::printf("launch %d synchronize %d\n", launched, waited);
        const bool mayFail = flags == 0 && i > 0; // the allocations of the launch before are live
        right = right && waited == cudaSuccess && (launched == cudaErrorInvalidValue) == mayFail;
        right = right && (mayFail || launched == cudaSuccess);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaGetLastError();
    return right ? 0 : 1;
}

static int toggle(cudaStream_t stream, float* data) {
    ControlPage page;
    std::atomic<bool> done{false};
    std::thread changer([&] {
        std::uint32_t state = 1;
        while (!done.load()) {
            state = state * 1664525u + 1013904223u;
            page.setLevel((state >> 24) % 5);
            std::this_thread::sleep_for(std::chrono::milliseconds(2 + (state >> 16) % 60));
        }
        page.setLevel(3);
    });
    int failures = 0;
    std::vector<cudaGraphExec_t> alive;
    for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 0) {
            alive.push_back(captured(stream, data, 20 + i % 7, 100));
        }
        if (alive.size() > 5) {
            failures += cudaStreamSynchronize(stream) != cudaSuccess;
            failures += cudaGraphExecDestroy(alive.front()) != cudaSuccess;
            alive.erase(alive.begin());
        }
        failures += cudaGraphLaunch(alive[static_cast<std::size_t>(i) % alive.size()], stream) != cudaSuccess;
        if (i % 3 == 0) {
            failures += cudaStreamSynchronize(stream) != cudaSuccess;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
    failures += cudaDeviceSynchronize() != cudaSuccess;
    done.store(true);
    changer.join();
    std::printf("failures %d\n", failures);
    return failures == 0 ? 0 : 1;
}

static int pairs(cudaStream_t stream, float* data) {
    constexpr int kPairs = 60;
    constexpr int kLaunches = 40;
    constexpr int kAhead = 8; // launches that the host is ahead of the device
    int failures = 0;
    cudaEvent_t ended[kAhead];
    for (cudaEvent_t& event : ended) {
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    }
    for (int pair = 0; pair < kPairs; ++pair) {
        cudaGraphExec_t execs[]
            = {captured(stream, data, 30 + pair % 7, 100), captured(stream, data, 5, 100)};
        for (int i = 0; i < kLaunches; ++i) {
            cudaEvent_t event = ended[i % kAhead];
            failures += cudaEventSynchronize(event) != cudaSuccess;
            failures += cudaGraphLaunch(execs[i % 2], stream) != cudaSuccess;
            failures += cudaEventRecord(event, stream) != cudaSuccess;
        }
        failures += cudaStreamSynchronize(stream) != cudaSuccess;
        for (cudaGraphExec_t exec : execs) {
            failures += cudaGraphExecDestroy(exec) != cudaSuccess;
        }
    }
    for (cudaEvent_t event : ended) {
        cudaEventDestroy(event);
    }
    std::printf("failures %d\n", failures);
    return failures == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaMalloc(&data, 1024 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    spin<<<8, 128, 0, stream>>>(data, 1);
    if (const cudaError_t result = cudaStreamSynchronize(stream); result != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
        return 1;
    }
    if (which == "liveAllocations") {
        return allocations(stream, 0);
    }
    if (which == "autoFree") {
        return allocations(stream, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    }
    if (which == "toggle") {
        return toggle(stream, data);
    }
    if (which == "pairs") {
        return pairs(stream, data);
    }
    std::fprintf(stderr, "usage: graph_trace liveAllocations|autoFree|toggle|pairs\n");
    return 2;
}
