// SPDX-License-Identifier: Apache-2.0
// Healthy graphs of every kind that a collector could disturb. Usage: graph_kinds CASE|all
//   allocations   allocation and free nodes: memory that lives inside one replay, and memory that outlives it
//   forked        four streams forked from one and joined again, twenty times over
//   updated       an executable updated in place, then a change of topology that an update refuses
//   conditional   a body that runs only in every second replay, and a loop that counts down on the device
// Prints results that do not depend on the run; exits 0 when they are right.
#include "watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const cudaError_t result = (call);                                                                   \
        if (result != cudaSuccess) {                                                                         \
            std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result));                               \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

constexpr int kCount = 1024;

__global__ void add(float* data, float value) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void copyFrom(float* to, const float* from) {
    to[blockIdx.x * blockDim.x + threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
}

__global__ void everySecond(cudaGraphConditionalHandle handle, int* replays) {
    cudaGraphSetConditional(handle, static_cast<unsigned>(++*replays % 2));
}

__global__ void countDown(cudaGraphConditionalHandle handle, int* left, float* sum) {
    *sum += 1;
    cudaGraphSetConditional(handle, --*left > 0 ? 1U : 0U);
}

static void launchAdd(cudaStream_t stream, float* data, float value) {
    add<<<kCount / 256, 256, 0, stream>>>(data, value);
}

static float firstOf(const float* data) {
    float value = 0;
    CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static float* zeros() {
    float* data = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(float)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    return data;
}

static bool report(const char* what, double got, double wanted) {
    std::printf("%s: %g (expected %g)\n", what, got, wanted);
    return got == wanted;
}

static bool allocations(cudaStream_t stream) {
    float* out = zeros();
    float* scratch = nullptr;
    float* kept = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&scratch), kCount * sizeof(float), stream));
    CHECK(cudaMemsetAsync(scratch, 0, kCount * sizeof(float), stream));
    launchAdd(stream, scratch, 3);
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&kept), kCount * sizeof(float), stream));
    copyFrom<<<kCount / 256, 256, 0, stream>>>(kept, scratch);
    CHECK(cudaFreeAsync(scratch, stream));
    copyFrom<<<kCount / 256, 256, 0, stream>>>(out, kept);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 20; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    bool right = report("value", firstOf(out), 3);
    CHECK(cudaFreeAsync(kept, stream)); // outlives the replay
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    // The same without the flag, the memory freed between replays.
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 5; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaFreeAsync(kept, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    right = report("value again", firstOf(out), 3) && right;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaFree(out));
    return right;
}

static bool forked(cudaStream_t stream) {
    constexpr int kSides = 4;
    constexpr int kRounds = 20;
    float* data[kSides] = {};
    cudaStream_t sides[kSides] = {};
    for (int i = 0; i < kSides; ++i) {
        data[i] = zeros();
        CHECK(cudaStreamCreateWithFlags(&sides[i], cudaStreamNonBlocking));
    }
    cudaEvent_t fork = nullptr;
    cudaEvent_t join = nullptr;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int round = 0; round < kRounds; ++round) {
        CHECK(cudaEventRecord(fork, stream));
        for (int i = 0; i < kSides; ++i) {
            CHECK(cudaStreamWaitEvent(sides[i], fork, 0));
            launchAdd(sides[i], data[i], static_cast<float>(i + 1));
            CHECK(cudaEventRecord(join, sides[i]));
            CHECK(cudaStreamWaitEvent(stream, join, 0));
        }
        launchAdd(stream, data[0], 1);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    std::size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    bool right = report("nodes", static_cast<double>(nodes), kRounds * (kSides + 1));
    right = report("first branch", firstOf(data[0]), 10 * kRounds * 2) && right;
    right = report("last branch", firstOf(data[3]), 10 * kRounds * 4) && right;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < kSides; ++i) {
        CHECK(cudaStreamDestroy(sides[i]));
        CHECK(cudaFree(data[i]));
    }
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return right;
}

static cudaGraph_t addition(cudaStream_t stream, float* data, float value, int kernels) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < kernels; ++i) {
        launchAdd(stream, data, value);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static bool updated(cudaStream_t stream) {
    float* data = zeros();
    cudaGraphExec_t exec = nullptr;
    cudaGraph_t first = addition(stream, data, 1, 3);
    CHECK(cudaGraphInstantiate(&exec, first, 0));
    CHECK(cudaGraphDestroy(first));
    CHECK(cudaGraphLaunch(exec, stream));
    double wanted = 3;
    for (int value = 2; value < 12; ++value) {
        cudaGraph_t other = addition(stream, data, static_cast<float>(value), 3);
        cudaGraphExecUpdateResultInfo info{};
        CHECK(cudaGraphExecUpdate(exec, other, &info));
        CHECK(cudaGraphDestroy(other));
        CHECK(cudaGraphLaunch(exec, stream));
        wanted += value * 3;
    }
    cudaGraph_t longer = addition(stream, data, 1, 5);
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t refused = cudaGraphExecUpdate(exec, longer, &info);
    std::printf(
        "another topology: %d, reason %d\n", static_cast<int>(refused), static_cast<int>(info.result));
    cudaGetLastError();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, longer, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    const bool right = report("sum", firstOf(data), wanted + 5);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(longer));
    CHECK(cudaFree(data));
    return right && refused == cudaErrorGraphExecUpdateFailure;
}

static cudaGraph_t addConditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
    cudaGraphConditionalNodeType type) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddNode(&node, graph, &after, nullptr, 1, &params));
    return params.conditional.phGraph_out[0];
}

static cudaGraphNode_t addKernel(
    cudaGraph_t graph, const void* function, void** arguments, unsigned threads) {
    cudaKernelNodeParams params{};
    params.func = const_cast<void*>(function);
    params.gridDim = dim3(threads > 256 ? threads / 256 : 1);
    params.blockDim = dim3(threads > 256 ? 256 : threads);
    params.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    return node;
}

static bool conditional(cudaStream_t stream) {
    float* data = zeros();
    float* sum = zeros();
    int* counters = reinterpret_cast<int*>(zeros());
    const int loops = 7;
    CHECK(cudaMemcpy(counters + 1, &loops, sizeof loops, cudaMemcpyHostToDevice));
    cudaGraph_t graph = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle branch{};
    CHECK(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
    int* replays = counters;
    void* branchArguments[] = {&branch, &replays};
    cudaGraphNode_t decides
        = addKernel(graph, reinterpret_cast<const void*>(&everySecond), branchArguments, 1);
    cudaGraph_t body = addConditional(graph, decides, branch, cudaGraphCondTypeIf);
    float one = 1;
    void* addArguments[] = {&data, &one};
    addKernel(body, reinterpret_cast<const void*>(&add), addArguments, kCount);
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    bool right = report("branch taken", firstOf(data), 5);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle loop{};
    CHECK(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
    float zero = 0;
    void* nothing[] = {&data, &zero};
    cudaGraphNode_t before = addKernel(graph, reinterpret_cast<const void*>(&add), nothing, kCount);
    cudaGraph_t loopBody = addConditional(graph, before, loop, cudaGraphCondTypeWhile);
    int* left = counters + 1;
    void* loopArguments[] = {&loop, &left, &sum};
    addKernel(loopBody, reinterpret_cast<const void*>(&countDown), loopArguments, 1);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    right = report("loops", firstOf(sum), loops) && right;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(counters));
    return right;
}

struct Case {
    const char* name;
    bool (*run)(cudaStream_t);
};

static const Case kCases[] = {
    {"allocations", allocations},
    {"forked", forked},
    {"updated", updated},
    {"conditional", conditional},
};

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool known = false;
    bool right = true;
    for (const Case& one : kCases) {
        if (which == one.name || which == "all") {
            known = true;
            std::printf("%s\n", one.name);
            right = one.run(stream) && right;
        }
    }
    CHECK(cudaStreamDestroy(stream));
    if (!known) {
        std::fprintf(stderr, "usage: graph_kinds allocations|forked|updated|conditional|all\n");
        return 2;
    }
    return right ? 0 : 1;
}
