// SPDX-License-Identifier: Apache-2.0
// A program that uses CUPTI itself, as a job with a profiler of its own does: its subscriber is there before
// any other. Runs a captured graph and exits 0 when its own callbacks came.
#include "watchdog.h"

#include <cstdio>

#include <cuda_runtime.h>
#include <cupti.h>

__global__ void addOne(float* data) {
    data[threadIdx.x] += 1.0F;
}

static int g_calls = 0;

static void CUPTIAPI onCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
    ++g_calls;
}

int main() {
    CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, onCall, nullptr) != CUPTI_SUCCESS
        || cuptiEnableCallback(
               1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch)
            != CUPTI_SUCCESS) {
        std::printf("no subscriber\n");
        return 1;
    }
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaMalloc(&data, 256 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    addOne<<<1, 256, 0, stream>>>(data);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 10; ++i) {
        cudaGraphLaunch(exec, stream);
    }
    const cudaError_t result = cudaStreamSynchronize(stream);
    std::printf("result %d, own callbacks %d\n", static_cast<int>(result), g_calls);
    return result == cudaSuccess && g_calls == 20 ? 0 : 1;
}
