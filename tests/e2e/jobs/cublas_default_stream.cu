// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD114
// WHY: The projection layer has a cuBLAS handle of its own that was never given the stream. Eager runs race
//   at worst. In the capture (non-blocking stream) its product goes to the default stream: it runs once and
//   no replay has it.
#include "job.h"

#include <cublas_v2.h>

namespace {

constexpr int kSize = 512;
constexpr int kReplays = 250;

void blas(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        std::fprintf(stderr, "cuBLAS: %d\n", static_cast<int>(status));
        std::exit(1);
    }
}

__global__ void activate(float* y, const float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float value = x[i];
        for (int k = 0; k < 3000; ++k)
            value = value * 0.5f + 0.5f;
        y[i] = value;
    }
}

class Projection {
public:
    explicit Projection(const float* weights)
        : m_weights(weights) {
        blas(cublasCreate(&m_handle));
    }
    ~Projection() { cublasDestroy(m_handle); }
    void forward(float* y, const float* x) {
        constexpr int n = kSize;
        const float one = 1;
        const float zero = 0;
        const auto plain = CUBLAS_OP_N;
        blas(cublasSgemm(m_handle, plain, plain, n, n, n, &one, m_weights, n, x, n, &zero, y, n)); // MARK
    }

private:
    cublasHandle_t m_handle = nullptr;
    const float* m_weights = nullptr;
};

} // namespace

int main() {
    constexpr int count = kSize * kSize;
    float *weights = nullptr, *x = nullptr, *y = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&weights, count * sizeof(float)));
    CHECK(cudaMalloc(&x, count * sizeof(float)));
    CHECK(cudaMalloc(&y, count * sizeof(float)));
    CHECK(cudaMemset(weights, 0, count * sizeof(float)));
    CHECK(cudaMemset(x, 0, count * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    {
        Projection projection(weights);
        const auto block = [&] {
            activate<<<count / 256, 256, 0, stream>>>(y, x, count);
            projection.forward(x, y);
            activate<<<count / 256, 256, 0, stream>>>(y, x, count);
        };
        for (int i = 0; i < 4; ++i) {
            block();
            CHECK(cudaDeviceSynchronize());
        }
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        block();
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        for (int i = 0; i < kReplays; ++i)
            CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
    }
    std::printf("%d replays\n", kReplays);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(stream));
    for (float* memory : {y, x, weights})
        CHECK(cudaFree(memory));
    return 0;
}
