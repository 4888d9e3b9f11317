// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Before each launch the executable gets the step's ring slot (cudaGraphExecKernelNodeSetParams,
//   source of the copy by cudaGraphExecMemcpyNodeSetParams1D), and the checkpoint kernel is enabled in
//   every tenth step only (cudaGraphNodeSetEnabled). At most eight steps are in flight. Values change as
//   the guide describes it.
#include "job.h"

namespace {
constexpr int kCount = 1 << 20;
constexpr int kSlots = 3;
constexpr int kSteps = 400;

__global__ void advance(unsigned* out, const unsigned* in, unsigned step, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scramble(in[i] + step, 2000);
}

cudaGraphNode_t addKernel(
    cudaGraph_t graph, cudaGraphNode_t after, cudaKernelNodeParams& params, void** args) {
    params.func = reinterpret_cast<void*>(advance);
    params.gridDim = dim3(kCount / 256);
    params.blockDim = dim3(256);
    params.kernelParams = args;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, 1, &params));
    return node;
}
} // namespace

int main() {
    const size_t bytes = kCount * sizeof(unsigned);
    unsigned *ring[kSlots], *state = nullptr, *next = nullptr, *saved = nullptr;
    for (unsigned*& slot : ring) {
        CHECK(cudaMalloc(&slot, bytes));
        CHECK(cudaMemset(slot, 1, bytes));
    }
    CHECK(cudaMalloc(&state, bytes));
    CHECK(cudaMalloc(&next, bytes));
    CHECK(cudaMalloc(&saved, bytes));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t copy = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(
        cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, state, ring[0], bytes, cudaMemcpyDeviceToDevice));
    unsigned step = 0;
    int n = kCount;
    void *args[] = {&next, &state, &step, &n}, *savedArgs[] = {&saved, &next, &step, &n};
    cudaKernelNodeParams stepParams{}, savedParams{};
    const cudaGraphNode_t kernel = addKernel(graph, copy, stepParams, args);
    const cudaGraphNode_t checkpoint = addKernel(graph, kernel, savedParams, savedArgs);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t passed[8];
    for (cudaEvent_t& event : passed)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (; step < kSteps; ++step) {
        if (step >= 8)
            CHECK(cudaEventSynchronize(passed[step % 8]));
        CHECK(cudaGraphExecMemcpyNodeSetParams1D(
            exec, copy, state, ring[step % kSlots], bytes, cudaMemcpyDeviceToDevice));
        CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &stepParams));
        CHECK(cudaGraphNodeSetEnabled(exec, checkpoint, step % 10 == 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(passed[step % 8], stream));
    }
    unsigned value = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, saved, sizeof(value), cudaMemcpyDeviceToHost));
    std::printf("saved %u\n", value);
}
