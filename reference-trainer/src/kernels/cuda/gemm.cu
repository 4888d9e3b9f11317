// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLASLt. The algorithm of a shape is asked for once, without trying any out, so
// that every run and every rank takes the same one and the bits agree; it is kept for the process.
#include "kernels/cuda/cublaslt_library.h"
#include "kernels/cuda/tables.cuh"
#include "kernels/fp8.h"
#include "kernels/gemm.h"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace gdt::kernels::cuda {

namespace {

template <class T> constexpr cudaDataType_t kType = CUDA_R_16BF;
template <> constexpr cudaDataType_t kType<Float16> = CUDA_R_16F;
template <> constexpr cudaDataType_t kType<float> = CUDA_R_32F;
template <> constexpr cudaDataType_t kType<double> = CUDA_R_64F;

/// Everything that decides which algorithm is right, and nothing else.
struct Shape {
    cudaDataType_t first, second, output;
    std::int64_t rows, columns, depth; // of the column-major product
    std::int64_t leadingFirst, leadingSecond, leadingOut;
    bool transposeFirst, transposeSecond, bias, accumulates;
    std::uint32_t alignFirst, alignSecond, alignOut, alignBias;
    int device;
    bool tf32;

    [[nodiscard]] bool narrowest() const { return first == CUDA_R_8F_E4M3; }
    [[nodiscard]] auto key() const {
        return std::tie(first, second, output, rows, columns, depth, leadingFirst, leadingSecond, leadingOut,
            transposeFirst, transposeSecond, bias, accumulates, alignFirst, alignSecond, alignOut, alignBias,
            device, tf32);
    }
    bool operator<(const Shape& other) const { return key() < other.key(); }
};

std::uint32_t alignmentOf(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    std::uint32_t bytes = 256;
    while (bytes > 1 && address % bytes != 0)
        bytes /= 2;
    return bytes;
}

/// Addresses that belong to the description of a product.
struct Pointers {
    const void* bias = nullptr;
    const Fp8Inverse* scaleFirst = nullptr; ///< 8-bit factors: device memory, what they are multiplied by
    const Fp8Inverse* scaleSecond = nullptr;
};

/// Descriptors and algorithm of one shape. Pointers are set anew for each launch, under the lock.
struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t first = nullptr;
    cublasLtMatrixLayout_t second = nullptr;
    cublasLtMatrixLayout_t out = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS; ///< why it is not usable
    bool usable = false;
};

// What the library refuses is no failure on the device, so it is told apart from one.
cudaError_t errorOf(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: // of a search that found no algorithm
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return cudaErrorNotSupported;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    default:
        return cudaErrorLaunchFailure;
    }
}

class Products {
public:
    cudaError_t run(const Shape& shape, const void* first, const void* second, void* out,
        const Pointers& pointers, const void* alpha, const void* beta, LaunchContext& context);

private:
    Plan& planFor(const Shape& shape, const Pointers& pointers, cublasLtHandle_t handle);
    bool point(const Shape& shape, const Pointers& pointers, Plan& plan);
    bool describe(const Shape& shape, Plan& plan);
    bool choose(const Shape& shape, cublasLtHandle_t handle, Plan& plan);
    bool fine(cublasStatus_t status);
    cudaError_t refused(const Shape& shape) const;

    std::mutex m_mutex;
    std::map<int, cublasLtHandle_t> m_handles; // by device
    std::map<Shape, Plan> m_plans;
    cublasStatus_t m_status = CUBLAS_STATUS_SUCCESS; // of the latest call
};

bool Products::fine(cublasStatus_t status) {
    m_status = status;
    return status == CUBLAS_STATUS_SUCCESS;
}

// CUBLASLT_LOG_LEVEL=2 in the environment lets the library say more.
cudaError_t Products::refused(const Shape& shape) const {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    std::fprintf(stderr,
        "reference-trainer: cuBLASLt: %s for a product of %lld x %lld x %lld, types %d, %d, %d\n",
        m_status == CUBLAS_STATUS_SUCCESS ? "no algorithm" : cublasLt().statusName(m_status),
        static_cast<long long>(shape.rows), static_cast<long long>(shape.columns),
        static_cast<long long>(shape.depth), static_cast<int>(shape.first), static_cast<int>(shape.second),
        static_cast<int>(shape.output));
    return errorOf(m_status);
}

bool Products::describe(const Shape& shape, Plan& plan) {
    const CublasLt& lt = cublasLt();
    const bool wide = shape.first == CUDA_R_64F;
    const cublasComputeType_t single = shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : single;
    const cublasOperation_t opFirst = shape.transposeFirst ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t opSecond = shape.transposeSecond ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    bool good = fine(lt.descCreate(&plan.operation, compute, wide ? CUDA_R_64F : CUDA_R_32F));
    good = good && fine(lt.descSet(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &opFirst, sizeof(opFirst)))
        && fine(lt.descSet(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, &opSecond, sizeof(opSecond)))
        && fine(lt.descSet(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
    const auto layout = [&](cublasLtMatrixLayout_t& target, cudaDataType_t type, std::int64_t rows,
                            std::int64_t columns, std::int64_t leading) {
        return fine(lt.layoutCreate(
            &target, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), leading));
    };
    return good
        && layout(plan.first, shape.first, shape.transposeFirst ? shape.depth : shape.rows,
            shape.transposeFirst ? shape.rows : shape.depth, shape.leadingFirst)
        && layout(plan.second, shape.second, shape.transposeSecond ? shape.columns : shape.depth,
            shape.transposeSecond ? shape.depth : shape.columns, shape.leadingSecond)
        && layout(plan.out, shape.output, shape.rows, shape.columns, shape.leadingOut);
}

bool Products::choose(const Shape& shape, cublasLtHandle_t handle, Plan& plan) {
    const CublasLt& lt = cublasLt();
    cublasLtMatmulPreference_t preference = nullptr;
    if (!fine(lt.preferenceCreate(&preference)))
        return false;
    const std::size_t bytes = runtime::cuda::Workspace::kBytes;
    bool good
        = fine(lt.preferenceSet(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)));
    const auto align = [&](cublasLtMatmulPreferenceAttributes_t which, std::uint32_t value) {
        good = good && fine(lt.preferenceSet(preference, which, &value, sizeof(value)));
    };
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.alignFirst);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.alignSecond);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.alignOut);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.alignOut);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    good = good
        && fine(lt.heuristic(handle, plan.operation, plan.first, plan.second, plan.out, plan.out, preference,
            1, &result, &found))
        && found == 1;
    static_cast<void>(lt.preferenceDestroy(preference));
    plan.algorithm = result.algo;
    return good;
}

bool Products::point(const Shape& shape, const Pointers& pointers, Plan& plan) {
    const CublasLt& lt = cublasLt();
    const auto set = [&](cublasLtMatmulDescAttributes_t which, const void* pointer) {
        return fine(lt.descSet(plan.operation, which, &pointer, sizeof(pointer)));
    };
    if (shape.bias && !set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias))
        return false;
    return !shape.narrowest()
        || (set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, pointers.scaleFirst)
            && set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, pointers.scaleSecond));
}

Plan& Products::planFor(const Shape& shape, const Pointers& pointers, cublasLtHandle_t handle) {
    const auto [entry, isNew] = m_plans.try_emplace(shape);
    Plan& plan = entry->second;
    if (isNew)
        plan.usable = describe(shape, plan) && point(shape, pointers, plan) && choose(shape, handle, plan);
    else if (plan.usable)
        plan.usable = point(shape, pointers, plan);
    else
        m_status = plan.status;
    plan.status = m_status;
    return plan;
}

cudaError_t Products::run(const Shape& shape, const void* first, const void* second, void* out,
    const Pointers& pointers, const void* alpha, const void* beta, LaunchContext& context) {
    const CublasLt& lt = cublasLt();
    if (!lt.problem.empty()) {
        std::fprintf(stderr, "reference-trainer: %s\n", lt.problem.c_str());
        return cudaErrorNotSupported;
    }
    void* workspace = context.workspace.memory();
    if (workspace == nullptr)
        return cudaErrorMemoryAllocation;
    std::lock_guard lock(m_mutex);
    cublasLtHandle_t& handle = m_handles[shape.device];
    if (handle == nullptr) {
        // Creating it allocates; nothing that a capture records depends on that.
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
        const bool created = fine(lt.create(&handle));
        static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
        if (!created)
            return refused(shape);
    }
    Plan& plan = planFor(shape, pointers, handle);
    if (!plan.usable)
        return refused(shape);
    const cublasStatus_t status = lt.matmul(handle, plan.operation, alpha, first, plan.first, second,
        plan.second, beta, out, plan.out, out, plan.out, &plan.algorithm, workspace,
        runtime::cuda::Workspace::kBytes, context.stream);
    return fine(status) ? cudaSuccess : refused(shape);
}

constexpr int kThreads = 256;

template <class T, class C> __global__ void __launch_bounds__(kThreads) addBias(typename Gemm<T, C>::Args g) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.m * g.n)
        return;
    C* c = g.c + i / g.n * g.ldc + i % g.n;
    *c = narrow<C>(widen(*c) + widen(g.bias[i % g.n]));
}

// c's rows are columns to cuBLASLt, so c = op(a) op(b) becomes c^T = op(b)^T op(a)^T.
template <class T, class C> Shape shapeOf(const typename Gemm<T, C>::Args& g) {
    Shape shape{};
    shape.first = kType<T>;
    shape.second = kType<T>;
    shape.output = kType<C>;
    shape.rows = g.n;
    shape.columns = g.m;
    shape.depth = g.k;
    shape.leadingFirst = g.ldb;
    shape.leadingSecond = g.lda;
    shape.leadingOut = g.ldc;
    shape.transposeFirst = g.transposeB;
    shape.transposeSecond = g.transposeA;
    // cuBLASLt adds no bias to a product in double.
    shape.bias = g.bias != nullptr && !std::is_same_v<T, double>;
    shape.accumulates = g.beta != 0;
    shape.alignFirst = alignmentOf(g.b);
    shape.alignSecond = alignmentOf(g.a);
    shape.alignOut = alignmentOf(g.c);
    shape.alignBias = alignmentOf(g.bias);
    return shape;
}

// Never destroyed: the driver may be gone before static objects are.
Products& products() {
    static Products* instance = new Products;
    return *instance;
}

template <class T, class C> cudaError_t gemm(const typename Gemm<T, C>::Args& g, LaunchContext& context) {
    Shape shape = shapeOf<T, C>(g);
    shape.tf32 = context.tf32 && std::is_same_v<T, float>;
    cudaError_t error = cudaGetDevice(&shape.device);
    Pointers pointers;
    pointers.bias = shape.bias ? g.bias : nullptr;
    if (error == cudaSuccess)
        error = products().run(shape, g.b, g.a, g.c, pointers, &g.alpha, &g.beta, context);
    if (error != cudaSuccess || g.bias == nullptr || shape.bias)
        return error;
    addBias<T, C><<<blocksFor(g.m * g.n, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

// Both factors with the summed dimension side by side: the transposed form, and the only one for 8 bits.
template <class C> cudaError_t gemmFp8(const typename GemmFp8<C>::Args& g, LaunchContext& context) {
    Shape shape{};
    shape.first = CUDA_R_8F_E4M3;
    shape.second = g.gradientA ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
    shape.output = kType<C>;
    shape.rows = g.n;
    shape.columns = g.m;
    shape.depth = g.k;
    shape.leadingFirst = g.k;
    shape.leadingSecond = g.k;
    shape.leadingOut = g.n;
    shape.transposeFirst = true;
    shape.bias = g.bias != nullptr;
    shape.accumulates = g.beta != 0;
    shape.alignFirst = alignmentOf(g.b);
    shape.alignSecond = alignmentOf(g.a);
    shape.alignOut = alignmentOf(g.c);
    shape.alignBias = alignmentOf(g.bias);
    if (const cudaError_t error = cudaGetDevice(&shape.device); error != cudaSuccess)
        return error;
    const float alpha = 1.0F;
    Pointers pointers;
    pointers.bias = g.bias;
    pointers.scaleFirst = g.inverseB;
    pointers.scaleSecond = g.inverseA;
    return products().run(shape, g.b, g.a, g.c, pointers, &alpha, &g.beta, context);
}

constexpr Launcher kTable[] = {entry<Gemm<double>, gemm<double, double>>(),
    entry<Gemm<float>, gemm<float, float>>(), entry<Gemm<BFloat16>, gemm<BFloat16, BFloat16>>(),
    entry<Gemm<BFloat16, float>, gemm<BFloat16, float>>(), entry<Gemm<Float16>, gemm<Float16, Float16>>(),
    entry<Gemm<Float16, float>, gemm<Float16, float>>(), entry<GemmFp8<BFloat16>, gemmFp8<BFloat16>>(),
    entry<GemmFp8<float>, gemmFp8<float>>()};

} // namespace

std::span<const Launcher> gemmLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
