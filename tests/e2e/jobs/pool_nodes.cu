// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Memory by every stream-ordered way at once: allocation and free nodes added by hand,
//   cudaMallocFromPoolAsync and cudaFreeAsync inside a capture, and an eager block a step from a pool with a
//   high release threshold. All freed.
#include "job.h"

#include <cstdint>

namespace {

constexpr int kCount = 1 << 16;
constexpr std::size_t kBytes = kCount * sizeof(unsigned);
constexpr int kSteps = 300;

__global__ void expand(unsigned* scratch, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        scratch[i] = scramble(in[i], 3000);
}

__global__ void reduceInto(unsigned* out, const unsigned* scratch, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += scramble(scratch[i], 2000);
}

cudaGraphNode_t addKernel(cudaGraph_t graph, cudaGraphNode_t after, void* function, void** args) {
    cudaKernelNodeParams params{};
    params.func = function;
    params.gridDim = dim3(kCount / 256);
    params.blockDim = dim3(256);
    params.kernelParams = args;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, 1, &params));
    return node;
}

cudaGraph_t byHand(unsigned* out, const unsigned* in) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams alloc{};
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.poolProps.location.id = 0;
    alloc.bytesize = kBytes;
    cudaGraphNode_t allocated = nullptr, freed = nullptr;
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &alloc));
    auto* scratch = static_cast<unsigned*>(alloc.dptr);
    int n = kCount;
    void* expandArgs[] = {&scratch, &in, &n};
    void* reduceArgs[] = {&out, &scratch, &n};
    const cudaGraphNode_t expanded
        = addKernel(graph, allocated, reinterpret_cast<void*>(&expand), expandArgs);
    const cudaGraphNode_t reduced
        = addKernel(graph, expanded, reinterpret_cast<void*>(&reduceInto), reduceArgs);
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &reduced, 1, scratch));
    return graph;
}

cudaGraph_t byCapture(cudaStream_t stream, cudaMemPool_t pool, unsigned* out, const unsigned* in) {
    cudaGraph_t graph = nullptr;
    unsigned *first = nullptr, *second = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocFromPoolAsync(&first, kBytes, pool, stream));
    expand<<<kCount / 256, 256, 0, stream>>>(first, in, kCount);
    CHECK(cudaMallocFromPoolAsync(&second, kBytes, pool, stream));
    expand<<<kCount / 256, 256, 0, stream>>>(second, first, kCount);
    CHECK(cudaFreeAsync(first, stream));
    reduceInto<<<kCount / 256, 256, 0, stream>>>(out, second, kCount);
    CHECK(cudaFreeAsync(second, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

} // namespace

int main() {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    std::uint64_t keep = UINT64_MAX;
    cudaStream_t stream = nullptr;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned *in = nullptr, *out = nullptr;
    CHECK(cudaMallocFromPoolAsync(&in, kBytes, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&out, kBytes, pool, stream));
    CHECK(cudaMemsetAsync(in, 9, kBytes, stream));
    CHECK(cudaMemsetAsync(out, 0, kBytes, stream));
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graphs[2] = {byHand(out, in), byCapture(stream, pool, out, in)};
    cudaGraphExec_t execs[2] = {};
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaGraphInstantiate(&execs[i], graphs[i], 0));
        CHECK(cudaGraphDestroy(graphs[i]));
    }
    for (int step = 0; step < kSteps; ++step) {
        unsigned* eager = nullptr;
        CHECK(cudaMallocFromPoolAsync(&eager, kBytes, pool, stream));
        expand<<<kCount / 256, 256, 0, stream>>>(eager, in, kCount);
        CHECK(cudaGetLastError());
        CHECK(cudaGraphLaunch(execs[0], stream));
        CHECK(cudaGraphLaunch(execs[1], stream));
        reduceInto<<<kCount / 256, 256, 0, stream>>>(out, eager, kCount);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(eager, stream));
    }
    unsigned first = 0;
    CHECK(cudaMemcpyAsync(&first, out, sizeof first, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    const unsigned once = scrambleOnHost(0x09090909u, 3000);
    const unsigned wanted
        = kSteps * (2 * scrambleOnHost(once, 2000) + scrambleOnHost(scrambleOnHost(once, 3000), 2000));
    std::printf("out %08x (expected %08x)\n", first, wanted);
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaFreeAsync(in, stream));
    CHECK(cudaFreeAsync(out, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return first == wanted ? 0 : 1;
}
