// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Time-step loop built node by node with the graph API: memset, kernels, a child graph for the smoother,
//   a copy of the residual to pinned memory and a host node. The time of each step is a kernel argument that
//   cudaGraphExecKernelNodeSetParams changes before each launch: the documented way, no frozen scalar.
#include "job.h"

namespace {

constexpr int kCells = 1 << 18;
constexpr int kSteps = 400;
constexpr int kSweeps = 4;

__global__ void source(unsigned* field, float time, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] += static_cast<unsigned>(time * 4) + 1u;
}

__global__ void sweep(unsigned* out, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scramble(in[i] + in[(i + 1) % n], 1500);
}

__global__ void residual(unsigned long long* sum, const unsigned* field, int n) {
    unsigned long long mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += field[i] & 0xffu;
    for (int lane = 16; lane > 0; lane /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, mine);
}

struct Monitor {
    unsigned long long* latest = nullptr;
    unsigned long long history = 0;
    int calls = 0;
};

void CUDART_CB observe(void* data) {
    auto* monitor = static_cast<Monitor*>(data);
    monitor->history = monitor->history * 31 + *monitor->latest;
    ++monitor->calls;
}

cudaGraphNode_t addKernel(cudaGraph_t graph, cudaGraphNode_t after, void* function, dim3 grid, void** args) {
    cudaKernelNodeParams params{};
    params.func = function;
    params.gridDim = grid;
    params.blockDim = dim3(256);
    params.kernelParams = args;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddKernelNode(
        &node, graph, after == nullptr ? nullptr : &after, after == nullptr ? 0 : 1, &params));
    return node;
}

} // namespace

int main() {
    unsigned *field = nullptr, *other = nullptr;
    unsigned long long* sum = nullptr;
    Monitor monitor;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCells * sizeof(unsigned)));
    CHECK(cudaMalloc(&other, kCells * sizeof(unsigned)));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMallocHost(&monitor.latest, sizeof *monitor.latest));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(field, 1, kCells * sizeof(unsigned), stream));

    int n = kCells;
    cudaGraph_t smoother = nullptr;
    CHECK(cudaGraphCreate(&smoother, 0));
    cudaGraphNode_t last = nullptr;
    for (int i = 0; i < kSweeps; ++i) {
        unsigned* out = i % 2 == 0 ? other : field;
        const unsigned* in = i % 2 == 0 ? field : other;
        void* args[] = {&out, &in, &n};
        last = addKernel(smoother, last, reinterpret_cast<void*>(&sweep), dim3(kCells / 256), args);
    }

    cudaGraph_t graph = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams clear{};
    clear.dst = sum;
    clear.elementSize = 4;
    clear.width = 2;
    clear.height = 1;
    cudaGraphNode_t cleared = nullptr, smoothed = nullptr, copied = nullptr, watched = nullptr;
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &clear));
    float time = 0;
    void* sourceArgs[] = {&field, &time, &n};
    const cudaGraphNode_t sourced
        = addKernel(graph, nullptr, reinterpret_cast<void*>(&source), dim3(kCells / 256), sourceArgs);
    CHECK(cudaGraphAddChildGraphNode(&smoothed, graph, &sourced, 1, smoother));
    void* residualArgs[] = {&sum, &field, &n};
    const cudaGraphNode_t summed
        = addKernel(graph, smoothed, reinterpret_cast<void*>(&residual), dim3(64), residualArgs);
    CHECK(cudaGraphAddDependencies(graph, &cleared, &summed, nullptr, 1));
    CHECK(cudaGraphAddMemcpyNode1D(
        &copied, graph, &summed, 1, monitor.latest, sum, sizeof *sum, cudaMemcpyDeviceToHost));
    cudaHostNodeParams host{};
    host.fn = observe;
    host.userData = &monitor;
    CHECK(cudaGraphAddHostNode(&watched, graph, &copied, 1, &host));
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    cudaKernelNodeParams step{};
    step.func = reinterpret_cast<void*>(&source);
    step.gridDim = dim3(kCells / 256);
    step.blockDim = dim3(256);
    step.kernelParams = sourceArgs;
    for (int i = 0; i < kSteps; ++i) {
        time = 0.25f * i;
        CHECK(cudaGraphExecKernelNodeSetParams(exec, sourced, &step));
        CHECK(cudaGraphLaunch(exec, stream));
        if (i % 50 == 49)
            CHECK(cudaStreamSynchronize(stream)); // checkpoint
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("steps %d, observed %d, last %llu, history %llx\n", kSteps, monitor.calls, *monitor.latest,
        monitor.history);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(smoother));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(monitor.latest));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(other));
    CHECK(cudaFree(field));
    return monitor.calls == kSteps ? 0 : 1;
}
