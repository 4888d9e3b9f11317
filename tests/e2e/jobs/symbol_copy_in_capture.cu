// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD114
// WHY: The filter's setter uploads its coefficients by cudaMemcpyToSymbol, which is synchronous and knows
//   no stream; the step calls the setter, also while it is captured. On a non-blocking stream nothing fails:
//   the coefficients are uploaded once, and every replay filters with those of the last call.
#include "job.h"

namespace {
constexpr int kCount = 1 << 18;
__constant__ float coefficients[9];

__global__ void filter(float* out, const float* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 9; ++k)
        sum += coefficients[k] * in[(i + k) % n];
    if (i < n)
        out[i] = sum;
}

struct Filter {
    float weights[9] = {};

    bool setWidth(float width) {
        for (int k = 0; k < 9; ++k)
            weights[k] = 1.0F / (1.0F + width * static_cast<float>((k - 4) * (k - 4)));
        return cudaMemcpyToSymbol(coefficients, weights, sizeof(weights)) == cudaSuccess; // MARK
    }
    bool apply(float* out, const float* in, cudaStream_t stream) {
        if (!setWidth(0.5F))
            return false;
        filter<<<kCount / 256, 256, 0, stream>>>(out, in, kCount);
        return cudaGetLastError() == cudaSuccess;
    }
};
} // namespace

int main() {
    float *in = nullptr, *out = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&in, kCount * sizeof(float)));
    CHECK(cudaMalloc(&out, kCount * sizeof(float)));
    CHECK(cudaMemset(in, 0, kCount * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Filter smoother;
    for (int i = 0; i < 3; ++i)
        smoother.apply(out, in, stream);
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(smoother.apply(out, in, stream) ? cudaSuccess : cudaErrorUnknown);
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 100; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaDeviceSynchronize());
    std::puts("filtered 100 times");
}
