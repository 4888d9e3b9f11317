// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD710 | GD211 | GD205
// WHY: Two request threads share one executable with one static input and output; each copies its request
//   in, launches on its own stream and copies out. A mutex guards the launch call, nothing orders the
//   work: one overwrites the other's request.
#include "job.h"

#include <barrier>
#include <mutex>
#include <thread>

namespace {
constexpr int kCount = 1 << 20;
constexpr int kRequests = 200;

__global__ void infer(unsigned* out, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scramble(in[i], 500);
}

struct Engine {
    unsigned *in = nullptr, *out = nullptr;
    cudaGraphExec_t exec = nullptr;
    std::mutex mutex;
} engine;

void serve(unsigned char tag, std::barrier<>& start) {
    cudaStream_t stream = nullptr;
    unsigned *request = nullptr, *answer = nullptr;
    const size_t bytes = kCount * sizeof(unsigned);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&request, bytes));
    CHECK(cudaMalloc(&answer, bytes));
    CHECK(cudaMemsetAsync(request, tag, bytes, stream));
    CHECK(cudaStreamSynchronize(stream));
    start.arrive_and_wait();
    for (int i = 0; i < kRequests; ++i) {
        CHECK(cudaMemcpyAsync(engine.in, request, bytes, cudaMemcpyDeviceToDevice, stream)); // MARK
        {
            const std::lock_guard lock(
                engine.mutex); // one call at a time, as the API asks; it orders no device work
            CHECK(cudaGraphLaunch(engine.exec, stream)); // MARK
        }
        CHECK(cudaMemcpyAsync(answer, engine.out, bytes, cudaMemcpyDeviceToDevice, stream)); // MARK
    }
    CHECK(cudaStreamSynchronize(stream));
}
} // namespace

int main() {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    CHECK(cudaMalloc(&engine.in, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&engine.out, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    infer<<<kCount / 256, 256, 0, stream>>>(engine.out, engine.in, kCount);
    infer<<<kCount / 256, 256, 0, stream>>>(engine.out, engine.out, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&engine.exec, graph, 0));
    std::barrier<> start(2);
    std::thread first([&] { serve(1, start); }), second([&] { serve(2, start); });
    first.join();
    second.join();
    std::printf("served %d\n", 2 * kRequests);
}
