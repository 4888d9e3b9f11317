// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD108
// WHY: A builder thread begins the capture (global mode) and hands the stream to the scheduler, which
//   ends it: refused, a capture ends in the thread that began it. The program goes on with other streams;
//   the capture stays open. Driver API.
#include "job.h"

#include <cuda.h>
#include <thread>

namespace {
constexpr int kCount = 1 << 18;

__global__ void work(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 100);
}

struct Plan {
    CUstream stream = nullptr;
    CUdeviceptr data = 0;
    CUfunction kernel = nullptr;

    CUresult enqueue(CUstream where) {
        int n = kCount;
        void* args[] = {&data, &n};
        return cuLaunchKernel(kernel, kCount / 256, 1, 1, 256, 1, 1, 0, where, args, nullptr);
    }
};

void build(CUcontext context, Plan& plan) {
    cuCtxSetCurrent(context);
    if (cuStreamBeginCapture(plan.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS) // MARK
        std::exit(1);
    for (int i = 0; i < 4; ++i)
        plan.enqueue(plan.stream);
}

CUgraph finish(Plan& plan) {
    CUgraph graph = nullptr;
    const CUresult ended = cuStreamEndCapture(plan.stream, &graph); // MARK
    return ended == CUDA_SUCCESS ? graph : nullptr;
}
} // namespace

int main() {
    CHECK(cudaSetDevice(0));
    Plan plan;
    CUcontext context = nullptr;
    CUstream eager = nullptr;
    cudaFunction_t function = nullptr;
    CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(work)));
    plan.kernel = function;
    cuCtxGetCurrent(&context);
    cuMemAlloc(&plan.data, kCount * sizeof(unsigned));
    cuStreamCreate(&plan.stream, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&eager, CU_STREAM_NON_BLOCKING);
    plan.enqueue(plan.stream);
    cuStreamSynchronize(plan.stream);
    std::thread builder([&] { build(context, plan); });
    builder.join();
    const bool ready = finish(plan) != nullptr;
    std::printf("plan ready: %d\n", ready);
    int launched = 0;
    for (int i = 0; i < 50; ++i)
        launched += plan.enqueue(eager) == CUDA_SUCCESS;
    std::printf("eager launches %d\n", launched);
}
