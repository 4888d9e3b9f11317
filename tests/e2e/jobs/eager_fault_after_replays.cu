// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// EXIT: 1
// WHY: A solver replays its graph some hundred times and waits for it; long afterwards a kernel that writes
//   the result, launched by itself, gets a wrong length and leaves its buffer. No graph was in flight: the
//   fault is not one of a replay.
#include "job.h"

namespace {
constexpr int kCount = 1 << 16, kSteps = 400;

__global__ void relax(float* x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 0.5f + 1.0f;
}

__global__ void write_result(float* out, const float* x, long long stride) {
    const long long i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i * stride] = x[i];
}

void solve(cudaStream_t stream, float* x) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 8; ++i)
        relax<<<kCount / 256, 256, 0, stream>>>(x);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < kSteps; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}
} // namespace

int main() {
    cudaStream_t stream = nullptr;
    float *x = nullptr, *out = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, sizeof(float) * kCount));
    CHECK(cudaMalloc(&out, sizeof(float) * kCount));
    CHECK(cudaMemset(x, 0, sizeof(float) * kCount));
    CHECK(cudaDeviceSynchronize());
    solve(stream, x);
    std::printf("solved\n");
    std::fflush(stdout);
    for (int i = 0; i < 50; ++i)
        write_result<<<kCount / 256, 256, 0, stream>>>(out, x, 1);
    CHECK(cudaStreamSynchronize(stream));
    write_result<<<kCount / 256, 256, 0, stream>>>(
        out, x, 1ll << 24); // bytes of the whole file, not of a row
    CHECK(cudaStreamSynchronize(stream));
}
