// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: New kinds of launches in one captured graph: a cooperative kernel with a grid barrier, a thread block
//   cluster with distributed shared memory, two kernels with programmatic dependent launch (a programmatic
//   edge), and one of high priority on a forked stream. 350 replays, queued in batches of 70.
#include "job.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace {

constexpr int kBlocks = 64;
constexpr int kThreads = 256;
constexpr int kCount = kBlocks * kThreads;
constexpr int kReplays = 350;

__global__ void relax(unsigned* a, unsigned* b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; ++r) {
        b[i] = scramble(a[i] + a[(i + kThreads) % kCount], 400);
        grid.sync();
        a[i] = b[(i + 1) % kCount];
        grid.sync();
    }
}

__global__ void exchange(unsigned* a) {
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ unsigned mine[kThreads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    mine[threadIdx.x] = a[i];
    cluster.sync();
    const unsigned* theirs = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
    const unsigned value = theirs[threadIdx.x];
    cluster.sync();
    a[i] = scramble(value, 1500);
}

__global__ void produce(unsigned* b, const unsigned* a) {
    cudaGridDependencySynchronize();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = scramble(a[i], 2000);
    cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void consume(unsigned* a, const unsigned* b) {
    cudaGridDependencySynchronize();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] ^= scramble(b[i], 2000);
}

__global__ void count(unsigned* counter) {
    if (threadIdx.x == 0)
        ++*counter;
}

cudaLaunchConfig_t configOf(cudaStream_t stream, cudaLaunchAttribute* attribute) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(kBlocks);
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

void step(cudaStream_t stream, cudaStream_t side, cudaEvent_t fork, cudaEvent_t join, unsigned* a,
    unsigned* b, unsigned* counter) {
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    count<<<1, 32, 0, side>>>(counter);
    CHECK(cudaEventRecord(join, side));

    int rounds = 8;
    void* args[] = {&a, &b, &rounds};
    CHECK(cudaLaunchCooperativeKernel(
        reinterpret_cast<const void*>(&relax), dim3(kBlocks), dim3(kThreads), args, 0, stream));

    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 4;
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = configOf(stream, &cluster);
    CHECK(cudaLaunchKernelEx(&config, exchange, a));

    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config = configOf(stream, &overlap);
    const unsigned* constA = a;
    const unsigned* constB = b;
    CHECK(cudaLaunchKernelEx(&config, produce, b, constA));
    CHECK(cudaLaunchKernelEx(&config, consume, a, constB));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
}

} // namespace

int main() {
    unsigned *a = nullptr, *b = nullptr, *counter = nullptr;
    cudaStream_t stream = nullptr, side = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
    int least = 0, greatest = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, greatest));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaMalloc(&a, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&b, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&counter, sizeof(unsigned)));
    CHECK(cudaMemsetAsync(a, 1, kCount * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(counter, 0, sizeof(unsigned), stream));
    for (int i = 0; i < 3; ++i)
        step(stream, side, fork, join, a, b, counter); // warm-up
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step(stream, side, fork, join, a, b, counter);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < kReplays; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
        if (i % 70 == 69)
            CHECK(cudaStreamSynchronize(stream));
    }
    unsigned first = 0, counted = 0;
    CHECK(cudaMemcpy(&first, a, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
    std::printf("steps %u, field %08x\n", counted, first);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(counter));
    CHECK(cudaFree(b));
    CHECK(cudaFree(a));
    return counted == kReplays + 3 ? 0 : 1;
}
