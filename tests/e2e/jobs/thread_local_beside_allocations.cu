// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: While the engine captures six variants (thread_local), a loader thread allocates, pins,
//   synchronises its own stream and frees all the time; a helper of the capturing thread allocates its
//   table under cudaThreadExchangeStreamCaptureMode(relaxed). All of it is allowed; no call fails.
#include "job.h"

#include <atomic>
#include <thread>

namespace {
constexpr int kCount = 1 << 20;
constexpr int kVariants = 6;

__global__ void work(unsigned* data, const unsigned* table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i] + table[i % 256], 1000);
}

void load(std::atomic<bool>& stop, std::atomic<int>& rounds) {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (!stop) {
        void *device = nullptr, *host = nullptr;
        CHECK(cudaMalloc(&device, 1 << 20));
        CHECK(cudaMallocHost(&host, 1 << 20));
        CHECK(cudaMemcpyAsync(device, host, 1 << 20, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFreeHost(host));
        CHECK(cudaFree(device));
        ++rounds;
    }
}

unsigned* lazyTable() {
    static unsigned* table = nullptr;
    if (table == nullptr) {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
        CHECK(cudaMalloc(&table, 256 * sizeof(unsigned)));
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    return table;
}
} // namespace

int main() {
    unsigned* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraphExec_t variants[kVariants];
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::atomic<bool> stop{false};
    std::atomic<int> rounds{0};
    std::thread loader([&] { load(stop, rounds); });
    for (int v = 0; v < kVariants; ++v) {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        unsigned* table = lazyTable();
        CHECK(cudaMemsetAsync(table, v, 256 * sizeof(unsigned), stream));
        for (const int until = rounds + 3; rounds < until;) // the loader is in the middle of its calls
            std::this_thread::yield();
        for (int i = 0; i <= v; ++i)
            work<<<kCount / 256, 256, 0, stream>>>(data, table, kCount);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&variants[v], graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    stop = true;
    loader.join();
    for (int step = 0; step < 600; ++step)
        CHECK(cudaGraphLaunch(variants[step % kVariants], stream));
    unsigned value = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, data, sizeof(value), cudaMemcpyDeviceToHost));
    std::printf("variants %d value %u\n", kVariants, value);
}
