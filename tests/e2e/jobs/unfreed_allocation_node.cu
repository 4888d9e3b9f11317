// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD405
// EXIT: 4
// WHY: A graph built by hand allocates its scratch with an allocation node and has no free node: the second
//   launch is refused. The program says so and ends with status 4.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;

__global__ void spread(unsigned* scratch, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        scratch[i] = scramble(in[i], 1000);
}

} // namespace

int main() {
    unsigned* in = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&in, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(in, 1, kCount * sizeof(unsigned), stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t allocated = nullptr, spreadOut = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams alloc{};
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.bytesize = kCount * sizeof(unsigned);
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &alloc)); // MARK
    int n = kCount;
    void* args[] = {&alloc.dptr, &in, &n};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(&spread);
    kernel.gridDim = dim3(kCount / 256);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&spreadOut, graph, &allocated, 1, &kernel));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    int launched = 0;
    cudaError_t status = cudaSuccess;
    for (; launched < 200; ++launched) {
        status = cudaGraphLaunch(exec, stream);
        if (status != cudaSuccess)
            break;
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%d launches, then %s\n", launched, cudaGetErrorName(status));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(in));
    return status == cudaSuccess ? 0 : 4;
}
