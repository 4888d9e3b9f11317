// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: A chain of cuBLAS and cuBLASLt products captured after a warm-up, stream and workspace set by hand,
//   replayed 300 times with an event wait every 25. Shifts rows of a matrix by permutation, so that the
//   result is exact.
#include "job.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <vector>

#define CUBLAS(call)                                                                                         \
    do {                                                                                                     \
        const cublasStatus_t status_ = (call);                                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS) {                                                              \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status_));   \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

namespace {

constexpr int kSize = 1024;
constexpr int kReplays = 300;
constexpr std::size_t kWorkspace = 32u << 20;

struct LtProduct {
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t what = nullptr;
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t chosen{};

    LtProduct() {
        CUBLAS(cublasLtCreate(&handle));
        CUBLAS(cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        CUBLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, kSize, kSize, kSize));
        CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
        std::size_t workspace = kWorkspace;
        CUBLAS(cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
        int found = 0;
        CUBLAS(cublasLtMatmulAlgoGetHeuristic(
            handle, what, layout, layout, layout, layout, preference, 1, &chosen, &found));
        if (found == 0)
            std::exit(1);
    }
    ~LtProduct() {
        cublasLtMatmulPreferenceDestroy(preference);
        cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(what);
        cublasLtDestroy(handle);
    }
    void run(const float* a, const float* b, float* c, void* workspace, cudaStream_t stream) {
        const float one = 1;
        const float zero = 0;
        CUBLAS(cublasLtMatmul(handle, what, &one, a, layout, b, layout, &zero, c, layout, c, layout,
            &chosen.algo, workspace, kWorkspace, stream));
    }
};

} // namespace

int main() {
    const std::size_t bytes = sizeof(float) * kSize * kSize;
    std::vector<float> shift(kSize * kSize), start(kSize * kSize), result(kSize * kSize);
    for (int i = 0; i < kSize; ++i) {
        shift[static_cast<std::size_t>(i) * kSize + (i + 1) % kSize] = 1; // column i has its one in row i + 1
        for (int j = 0; j < kSize; ++j)
            start[static_cast<std::size_t>(j) * kSize + i] = static_cast<float>(i);
    }
    float *weights = nullptr, *x = nullptr, *y = nullptr;
    void *workspace = nullptr, *ltWorkspace = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t mark = nullptr;
    CHECK(cudaMalloc(&weights, bytes));
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMalloc(&workspace, kWorkspace));
    CHECK(cudaMalloc(&ltWorkspace, kWorkspace));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
    CHECK(cudaMemcpy(weights, shift.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(x, start.data(), bytes, cudaMemcpyHostToDevice));
    cublasHandle_t blas = nullptr;
    CUBLAS(cublasCreate(&blas));
    CUBLAS(cublasSetStream(blas, stream));
    CUBLAS(cublasSetWorkspace(blas, workspace, kWorkspace));
    int products = 0;
    {
        LtProduct lt;
        const float one = 1;
        const float zero = 0;
        const auto chain = [&] {
            for (int i = 0; i < 2; ++i) {
                CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, weights, kSize,
                    x, kSize, &zero, y, kSize));
                lt.run(weights, y, x, ltWorkspace, stream);
                products += 2;
            }
        };
        for (int i = 0; i < 3; ++i)
            chain();
        CHECK(cudaStreamSynchronize(stream));
        const int warm = products;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        chain();
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        const int each = products - warm;
        products = warm + each * kReplays;
        for (int i = 0; i < kReplays; ++i) {
            CHECK(cudaGraphLaunch(exec, stream));
            if (i % 25 == 10)
                CHECK(cudaEventRecord(mark, stream));
            if (i % 25 == 24)
                CHECK(cudaEventSynchronize(mark));
        }
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaMemcpy(result.data(), x, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int j = 0; j < kSize; ++j) {
        for (int i = 0; i < kSize; ++i)
            wrong += result[static_cast<std::size_t>(j) * kSize + (i + products) % kSize]
                != static_cast<float>(i);
    }
    std::printf("%d products, %d wrong\n", products, wrong);
    CUBLAS(cublasDestroy(blas));
    CHECK(cudaEventDestroy(mark));
    CHECK(cudaStreamDestroy(stream));
    for (void* memory :
        {static_cast<void*>(weights), static_cast<void*>(x), static_cast<void*>(y), workspace, ltWorkspace})
        CHECK(cudaFree(memory));
    return wrong == 0 ? 0 : 1;
}
