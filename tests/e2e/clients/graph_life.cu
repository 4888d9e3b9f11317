// SPDX-License-Identifier: Apache-2.0
// A healthy program that takes a graph through its whole life: captured with every common node type,
// instantiated twice, replayed, updated from a second capture, cloned, destroyed. Prints the sums it expects
// and got.
#include "watchdog.h"

#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const auto result = (call);                                                                          \
        if (static_cast<int>(result) != 0) {                                                                 \
            std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result));                               \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

struct Scale {
    float factor;
    int padding;
    float* bias;
};

__global__ void addTo(float* data, float value, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        data[i] += value;
    }
}

extern "C" __global__ void scaleBy(float* data, Scale scale, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        data[i] = data[i] * scale.factor + scale.bias[i];
    }
}

static void CUDART_CB countCall(void* counter) {
    ++*static_cast<int*>(counter);
}

static cudaGraph_t capture(cudaStream_t stream, cudaStream_t side, float* data, float* copy, float* bias,
    int count, float value, int* calls) {
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(data, 0, count * sizeof(float), stream));
    addTo<<<(count + 255) / 256, 256, 0, stream>>>(data, value, count);
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    CHECK(cudaMemcpyAsync(copy, data, count * sizeof(float), cudaMemcpyDeviceToDevice, side));
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(&scaleBy)));
    struct {
        float* data;
        Scale scale;
        int count;
    } packed{data, {2.0f, 0, bias}, count};
    size_t packedBytes = sizeof(float*) + sizeof(Scale) + sizeof(int);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packedBytes,
        CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(reinterpret_cast<CUfunction>(function), (count + 255) / 256, 1, 1, 256, 1, 1, 0,
        stream, nullptr, extra));
    float* temporary = nullptr;
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&temporary), count * sizeof(float), stream));
    CHECK(cudaMemcpyAsync(temporary, data, count * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(temporary, stream));
    CHECK(cudaLaunchHostFunc(stream, countCall, calls));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return graph;
}

int main() {
    constexpr int kCount = 1024;
    float *data, *copy, *bias;
    CHECK(cudaMalloc(&data, kCount * sizeof(float)));
    CHECK(cudaMalloc(&copy, kCount * sizeof(float)));
    CHECK(cudaMalloc(&bias, kCount * sizeof(float)));
    CHECK(cudaMemset(bias, 0, kCount * sizeof(float)));
    cudaStream_t stream, side;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    int calls = 0;
    cudaGraph_t graph = capture(stream, side, data, copy, bias, kCount, 1.0f, &calls);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    float first = 0;
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    cudaGraph_t other = capture(stream, side, data, copy, bias, kCount, 3.0f, &calls);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, other, &info));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    float second = 0;
    CHECK(cudaMemcpy(&second, data, sizeof second, cudaMemcpyDeviceToHost));
    cudaGraph_t built, parent;
    CHECK(cudaGraphCreate(&built, 0));
    cudaGraphNode_t fill;
    cudaMemsetParams fillParams{};
    fillParams.dst = data;
    fillParams.elementSize = 4;
    fillParams.width = kCount;
    fillParams.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, built, nullptr, 0, &fillParams));
    cudaGraph_t clone;
    CHECK(cudaGraphClone(&clone, built));
    CHECK(cudaGraphCreate(&parent, 0));
    cudaGraphNode_t child;
    CHECK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, clone));
    cudaGraphExec_t parentExec;
    CHECK(cudaGraphInstantiate(&parentExec, parent, 0));
    CHECK(cudaGraphLaunch(parentExec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(parentExec));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(parent));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(built));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaStreamDestroy(stream));
    std::printf("first %g second %g host calls %d\n", first, second, calls);
    return first == 2.0f && second == 6.0f && calls == 4 ? 0 : 1;
}
