// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD108
// EXIT: 3
// WHY: A shape check throws between begin and end of a capture. The server catches the exception and means to
//   go on eagerly on another stream, but its thread still has the capture open: its first allocation is
//   refused.
#include "job.h"

#include <stdexcept>

namespace {

constexpr int kCount = 1 << 16;

__global__ void encode(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 1000);
}

void attend(cudaStream_t stream, unsigned* data, int heads, int width) {
    if (width % heads != 0)
        throw std::runtime_error("width is no multiple of heads");
    encode<<<kCount / 256, 256, 0, stream>>>(data, kCount);
}

cudaGraphExec_t compile(cudaStream_t stream, unsigned* data, int heads) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); // MARK
    encode<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    attend(stream, data, heads, 1024);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int eagerly(unsigned* data) {
    cudaStream_t stream = nullptr;
    unsigned* scratch = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    encode<<<kCount / 256, 256, 0, stream>>>(data, kCount);
    const cudaError_t status = cudaMalloc(&scratch, 1 << 20);
    std::printf("eager path: %s\n", cudaGetErrorName(status));
    return status == cudaSuccess ? 0 : 3;
}

} // namespace

int main() {
    unsigned* data = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(data, 1, kCount * sizeof(unsigned), stream));
    const cudaGraphExec_t good = compile(stream, data, 16);
    for (int i = 0; i < 100; ++i)
        CHECK(cudaGraphLaunch(good, stream));
    CHECK(cudaStreamSynchronize(stream));
    try {
        compile(stream, data, 12);
    } catch (const std::exception& error) {
        std::printf("no graph: %s\n", error.what());
    }
    return eagerly(data);
}
