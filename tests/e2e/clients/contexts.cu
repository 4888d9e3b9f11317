// SPDX-License-Identifier: Apache-2.0
// Contexts that come and go under graphs: `reset` (cudaDeviceReset with a graph and an executable alive, four
// times), `two` (two contexts on one device), `devices` (one graph on every device, one process).
#include "watchdog.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

__global__ void increment(int* data, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        data[i] += 1;
    }
}

namespace {

constexpr int kReplays
    = 15; // too few steps for rules on what is usual: these devices have next to nothing to do

void check(int result, const char* what) {
    if (result != 0) {
        std::printf("%s: %d\n", what, result);
        std::exit(1);
    }
}

struct Work {
    int* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
};

// In the current context: captures, replays, also on the legacy stream, and returns the first element.
int run(Work& work) {
    check(cudaMalloc(&work.data, 4096), "malloc");
    check(cudaMemset(work.data, 0, 4096), "memset");
    check(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking), "stream");
    check(cudaDeviceSynchronize(), "synchronize");
    check(cudaStreamBeginCapture(work.stream, cudaStreamCaptureModeThreadLocal), "begin");
    increment<<<4, 256, 0, work.stream>>>(work.data, 1024);
    check(cudaStreamEndCapture(work.stream, &work.graph), "end");
    check(cudaGraphInstantiate(&work.exec, work.graph, 0), "instantiate");
    for (int i = 0; i < kReplays; ++i) {
        check(cudaGraphLaunch(work.exec, i % 2 == 0 ? work.stream : nullptr), "launch");
        check(cudaDeviceSynchronize(), "synchronize");
    }
    int first = 0;
    check(cudaMemcpy(&first, work.data, sizeof first, cudaMemcpyDeviceToHost), "copy");
    return first;
}

void reset() {
    for (int round = 0; round < 4; ++round) {
        check(cudaSetDevice(0), "device");
        Work work;
        std::printf("round %d: %d\n", round, run(work));
        check(cudaDeviceReset(), "reset"); // all of it goes, without a call for each
    }
    std::printf("EXPECT SELECT count(*) FROM replay WHERE result = 0 => %d\n", 4 * kReplays);
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'device' AND bytes = 4096 AND free_ns IS "
              "NULL => 0");
}

void two() {
    CUcontext contexts[2] = {};
    check(cuInit(0), "init");
    for (CUcontext& context : contexts) {
#if CUDA_VERSION >= 13000
        check(cuCtxCreate(&context, nullptr, 0, 0), "context");
#else
        check(cuCtxCreate(&context, 0, 0), "context");
#endif
        Work work;
        std::printf("context: %d\n", run(work));
    }
    check(cuCtxDestroy(contexts[1]), "destroy");
    check(cuCtxSetCurrent(contexts[0]), "current");
    Work work;
    std::printf("first again: %d\n", run(work));
    std::printf("EXPECT SELECT count(*) FROM replay WHERE result = 0 => %d\n", 3 * kReplays);
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'device' AND bytes = 4096 AND free_ns IS "
              "NULL => 2");
}

// Copies from the first device to the second; a fill on the first device's stream while the second is
// current.
void between(const Work& first) {
    constexpr int kCopies = 5;
    void* there = nullptr;
    check(cudaMalloc(&there, 2048), "malloc");
    check(cudaDeviceEnablePeerAccess(0, 0), "peer");
    check(cudaSetDevice(0), "device");
    for (int i = 0; i < kCopies; ++i) {
        check(cudaMemcpyPeerAsync(there, 1, first.data, 0, 2048, first.stream), "peer copy");
    }
    check(cudaStreamSynchronize(first.stream), "synchronize");
    check(cudaSetDevice(1), "device");
    check(cudaGraphLaunch(first.exec, first.stream), "launch");
    check(cudaStreamSynchronize(first.stream), "synchronize");
    std::printf(
        "EXPECT SELECT count(*) FROM memcpy WHERE copy_kind = 'PtoP' AND bytes = 2048 => %d\n", kCopies);
    std::printf("EXPECT SELECT count(*) FROM replay WHERE device_id = 0 => %d\n", kReplays + 1);
}

void devices() {
    int count = 0;
    Work first;
    check(cudaGetDeviceCount(&count), "count");
    for (int device = 0; device < count; ++device) {
        check(cudaSetDevice(device), "device");
        Work work;
        std::printf("device %d: %d\n", device, run(work));
        if (device == 0) {
            first = work;
        } else if (device == 1) {
            between(first);
        }
    }
    std::printf("EXPECT SELECT count(DISTINCT device_id) FROM allocation WHERE kind = 'device' AND bytes = "
                "4096 => %d\n",
        count);
    std::printf("EXPECT SELECT count(DISTINCT device_id) FROM replay => %d\n", count);
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "reset";
    if (mode == "two") {
        two();
    } else if (mode == "devices") {
        devices();
    } else {
        reset();
    }
    return 0;
}
