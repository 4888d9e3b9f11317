// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD102
// WHY: While the model thread captures in global mode, the cache thread doubles its device cache with
//   cudaMalloc: it is refused, the capture is invalid, and the service goes on eagerly without saying why.
#include "job.h"

#include <atomic>
#include <thread>

namespace {

constexpr int kCount = 1 << 16;
constexpr int kSteps = 120;

__global__ void layer(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 2000);
}

std::atomic<int> phase{0};

void await(int wanted) {
    while (phase.load() < wanted)
        std::this_thread::yield();
}

class Cache {
public:
    bool grow() {
        void* larger = nullptr;
        const cudaError_t status = cudaMalloc(&larger, m_bytes * 2); // MARK
        if (status != cudaSuccess) {
            cudaGetLastError();
            return false;
        }
        if (m_memory != nullptr)
            CHECK(cudaFree(m_memory));
        m_memory = larger;
        m_bytes *= 2;
        return true;
    }
    void drop() { CHECK(cudaFree(m_memory)); }

private:
    void* m_memory = nullptr;
    std::size_t m_bytes = 1 << 20;
};

void cacheThread(bool* during, bool* after) {
    Cache cache;
    CHECK(cudaSetDevice(0));
    if (!cache.grow())
        std::exit(1);
    phase = 1;
    await(2);
    *during = cache.grow();
    phase = 3;
    await(4);
    *after = cache.grow();
    cache.drop();
}

} // namespace

int main() {
    unsigned* data = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(data, 2, kCount * sizeof(unsigned), stream));
    const auto model = [&] {
        for (int i = 0; i < 6; ++i)
            layer<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    };
    for (int i = 0; i < 3; ++i)
        model();
    CHECK(cudaStreamSynchronize(stream));
    bool during = false, after = false;
    std::thread cache(cacheThread, &during, &after);
    await(1);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    layer<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    phase = 2;
    await(3);
    for (int i = 0; i < 5; ++i)
        layer<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    phase = 4;
    cache.join();
    cudaGraphExec_t exec = nullptr;
    if (ended == cudaSuccess)
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int step = 0; step < kSteps; ++step) {
        if (exec != nullptr)
            CHECK(cudaGraphLaunch(exec, stream));
        else
            model();
    }
    CHECK(cudaStreamSynchronize(stream));
    unsigned first = 0;
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("capture ended with %d, cache grew during it: %d, after it: %d, data %08x\n",
        static_cast<int>(ended), during, after, first);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return 0;
}
