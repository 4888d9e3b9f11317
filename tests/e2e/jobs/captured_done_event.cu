// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD107
// WHY: The "done" event is recorded inside the capture with a plain cudaEventRecord, and the host means
//   to wait for it after each replay. Such a record is an edge of the graph, no event of a replay: the
//   wait is refused and the server falls back to waiting for the whole stream.
#include "job.h"

namespace {
constexpr int kCount = 1 << 18;

__global__ void work(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 500);
}
} // namespace

int main() {
    unsigned* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    CHECK(cudaEventRecord(done, stream)); // MARK
    work<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    int fallbacks = 0;
    for (int i = 0; i < 20; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
        if (cudaEventSynchronize(done) != cudaSuccess) { // MARK
            cudaGetLastError();
            CHECK(cudaStreamSynchronize(stream));
            ++fallbacks;
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("requests 20, waited for the stream %d times\n", fallbacks);
}
