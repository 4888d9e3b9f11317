// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD209 | GD304
// ALONE: idle time of the device is what is judged
// MISSED: below level full a replay is one record, and no rule judges host nodes yet
// WHY: A host node in the middle of the captured step compresses the residual log, 4 ms each; the kernel
//   behind it waits, the device idles inside the graph. The log does not belong on the path of the step.
#include "job.h"

#include <chrono>
#include <cmath>

namespace {
constexpr int kCount = 1 << 18;
constexpr int kSteps = 250;

__global__ void relax(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 400);
}

struct ResidualLog {
    const unsigned* residual = nullptr;
    double entropy = 0;
    int entries = 0;
};

void CUDART_CB compressLog(void* argument) {
    auto& log = *static_cast<ResidualLog*>(argument);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(4);
    while (std::chrono::steady_clock::now() < end)
        log.entropy = std::sin(log.entropy + *log.residual);
    ++log.entries;
}
} // namespace

int main() {
    unsigned *data = nullptr, *residual = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(unsigned)));
    CHECK(cudaMallocHost(&residual, sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ResidualLog log{.residual = residual};
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    relax<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    CHECK(cudaMemcpyAsync(residual, data, sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, compressLog, &log));
    relax<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int step = 0; step < kSteps; ++step)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("entries %d residual %u\n", log.entries, *residual);
}
