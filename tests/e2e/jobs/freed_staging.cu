// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD202 | GD208
// WHY: The loader's pinned staging buffer belongs to an object that goes out of scope after the capture;
//   the graph's copy node still reads the freed buffer in each replay. Whether the device faults or reads
//   stale bytes is luck.
#include "job.h"

namespace {
constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(unsigned);

struct Loader {
    unsigned* staging = nullptr;
    Loader() {
        CHECK(cudaMallocHost(&staging, kBytes));
        for (int i = 0; i < kCount; ++i)
            staging[i] = static_cast<unsigned>(i);
    }
    ~Loader() {
        cudaFreeHost(staging); // MARK
    }
};

__global__ void consume(unsigned* out, const unsigned* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += scramble(in[i], 200);
}

cudaGraphExec_t captureStep(unsigned* in, unsigned* out, cudaStream_t stream) {
    Loader loader; // MARK
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(in, loader.staging, kBytes, cudaMemcpyHostToDevice, stream)); // MARK
    consume<<<kCount / 256, 256, 0, stream>>>(out, in, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}
} // namespace

int main() {
    unsigned *in = nullptr, *out = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&in, kBytes));
    CHECK(cudaMalloc(&out, kBytes));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t exec = captureStep(in, out, stream);
    int launched = 0;
    for (int step = 0; step < 100; ++step) {
        if (cudaGraphLaunch(exec, stream) != cudaSuccess)
            break;
        ++launched;
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess)
        std::fprintf(stderr, "device error after %d launches\n", launched);
    std::printf("ended\n");
    std::fflush(stdout);
}
