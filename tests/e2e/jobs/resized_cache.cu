// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD202
// WHY: Between two batches of replays the key/value cache is grown: the old block goes back to the stream-
//   ordered pool with cudaFreeAsync and somebody else gets it at once. The decode graph still writes to the
//   old address.
#include "job.h"

#include <cstdint>

namespace {

constexpr int kCount = 1 << 16;
constexpr int kReplays = 200;

__global__ void decode(unsigned* cache, const unsigned* tokens, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        cache[i] += scramble(tokens[i], 3000);
}

struct Cache {
    unsigned* keys = nullptr;
    std::size_t bytes = 0;

    void resize(std::size_t wanted, cudaStream_t stream) {
        unsigned* larger = nullptr;
        CHECK(cudaMallocAsync(&larger, wanted, stream));
        CHECK(cudaMemsetAsync(larger, 0, wanted, stream));
        if (keys != nullptr) {
            CHECK(cudaMemcpyAsync(larger, keys, bytes, cudaMemcpyDeviceToDevice, stream));
            CHECK(cudaFreeAsync(keys, stream)); // MARK
        }
        keys = larger;
        bytes = wanted;
    }
};

} // namespace

int main() {
    cudaMemPool_t pool = nullptr;
    std::uint64_t keep = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* tokens = nullptr;
    CHECK(cudaMalloc(&tokens, kCount * sizeof(unsigned)));
    CHECK(cudaMemsetAsync(tokens, 4, kCount * sizeof(unsigned), stream));
    Cache cache;
    cache.resize(kCount * sizeof(unsigned), stream);
    CHECK(cudaStreamSynchronize(stream));

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 4; ++i)
        decode<<<kCount / 256, 256, 0, stream>>>(cache.keys, tokens, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    cache.resize(4 * kCount * sizeof(unsigned), stream);
    unsigned* answers = nullptr; // the pool hands out the block that the cache gave back
    CHECK(cudaMallocAsync(&answers, kCount * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(answers, 0, kCount * sizeof(unsigned), stream));
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    unsigned cached = 0;
    CHECK(cudaMemcpy(&cached, cache.keys, sizeof cached, cudaMemcpyDeviceToHost));
    std::printf("%d replays, cache %08x after the resize\n", 2 * kReplays, cached);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFreeAsync(answers, stream));
    CHECK(cudaFreeAsync(cache.keys, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(tokens));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
