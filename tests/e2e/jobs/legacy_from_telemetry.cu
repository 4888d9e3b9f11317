// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD103 | GD102
// WHY: The solver captures on a stream made by cudaStreamCreate (blocking) in global mode; meanwhile the
//   telemetry thread launches its reduction without a stream, that is on the legacy one. The launch is
//   refused, the capture is lost.
#include "job.h"

#include <barrier>
#include <thread>

namespace {
constexpr int kCount = 1 << 18;

__global__ void work(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 100);
}

__global__ void reduce(unsigned* total, const unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(total, data[i]);
}

void telemetry(unsigned* total, const unsigned* data, std::barrier<>& phase) {
    reduce<<<kCount / 256, 256>>>(total, data, kCount);
    CHECK(cudaGetLastError());
    phase.arrive_and_wait(); // the solver starts to capture
    phase.arrive_and_wait();
    reduce<<<kCount / 256, 256>>>(total, data, kCount); // MARK
    if (cudaGetLastError() != cudaSuccess)
        std::printf("telemetry: no sample\n");
    phase.arrive_and_wait();
}
} // namespace

int main() {
    unsigned *data = nullptr, *total = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&total, sizeof(unsigned)));
    CHECK(cudaMemset(total, 0, sizeof(unsigned)));
    CHECK(cudaStreamCreate(&stream));
    work<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    std::barrier<> phase(2);
    std::thread thread([&] { telemetry(total, data, phase); });
    phase.arrive_and_wait();
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    phase.arrive_and_wait();
    phase.arrive_and_wait();
    thread.join();
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    std::printf("captured %d\n", ended == cudaSuccess);
}
