// SPDX-License-Identifier: Apache-2.0
// Which driver queries can be made where: memory sizes while another thread captures, kernel parameters from
// the handle that a launch callback shows. See README.md.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>

#include <chrono>
#include <cstdio>
#include <thread>

__global__ void scale(float* data, float factor, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        data[i] *= factor;
    }
}

namespace {

bool inside = false;
bool ask = false;

void describe(CUfunction f, void** params) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const CUresult asFunction = cuFuncGetParamInfo(f, i, &offset, &bytes);
        std::printf("  cuFuncGetParamInfo %zu: %d (%zu, %zu)\n", i, asFunction, offset, bytes);
    }
    const char* name = nullptr;
    const CUresult named = cuFuncGetName(&name, f);
    std::printf("  cuFuncGetName: %d %s\n", named, named == CUDA_SUCCESS ? name : "-");
    const CUresult asKernel = cuKernelGetParamInfo(reinterpret_cast<CUkernel>(f), 0, &offset, &bytes);
    std::printf("  cuKernelGetParamInfo 0: %d\n", asKernel);
    std::printf("  factor %g\n", params != nullptr ? *static_cast<float*>(params[1]) : -1.0);
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (inside || !ask || call.callbackSite != CUPTI_API_EXIT
        || id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
        return;
    }
    inside = true;
    const auto& params = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
    describe(params.f, params.kernelParams);
    inside = false;
}

template <class Call> void timed(const char* name, int rounds, Call call) {
    CUresult result = call();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
        result = call();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::printf("%s: %d, %.2f us\n", name, result, took.count() / rounds);
}

void queries(const char* where, CUmemoryPool pool) {
    std::printf("%s\n", where);
    std::size_t free = 0;
    std::size_t total = 0;
    cuuint64_t bytes = 0;
    timed("  cuMemGetInfo", 100, [&] { return cuMemGetInfo(&free, &total); });
    timed("  cuDeviceGetGraphMemAttribute", 100,
        [&] { return cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes); });
    timed("  cuMemPoolGetAttribute", 100,
        [&] { return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes); });
    timed("  cuDeviceGetMemPool", 100, [&] { return cuDeviceGetMemPool(&pool, 0); });
    timed("  cuThreadExchangeStreamCaptureMode", 100, [&] {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        return cuThreadExchangeStreamCaptureMode(&mode);
    });
}

// A global capture during which another thread asks.
void whileCapturing(const char* how, CUstreamCaptureMode mode, CUmemoryPool pool, float* data) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    scale<<<1, 32, 0, stream>>>(data, 1.0F, 32);
    std::thread other([&] {
        cudaSetDevice(0);
        CUstreamCaptureMode exchanged = mode;
        cuThreadExchangeStreamCaptureMode(&exchanged);
        queries(how, pool);
    });
    other.join();
    cudaGraph_t graph = nullptr;
    std::printf("  capture ends with %d\n", cudaStreamEndCapture(stream, &graph));
    cudaGetLastError();
    if (graph != nullptr) {
        cudaGraphDestroy(graph);
    }
    cudaStreamDestroy(stream);
}

} // namespace

int main() {
    cudaSetDevice(0);
    float* data = nullptr;
    cudaMalloc(&data, 4096);
    CUmemoryPool pool = nullptr;
    cuDeviceGetDefaultMemPool(&pool, 0);
    queries("outside captures", pool);
    whileCapturing("other thread, mode global", CU_STREAM_CAPTURE_MODE_GLOBAL, pool, data);
    whileCapturing("other thread, mode relaxed", CU_STREAM_CAPTURE_MODE_RELAXED, pool, data);
    CUpti_SubscriberHandle subscriber = nullptr;
    cuptiSubscribe(&subscriber, onCallback, nullptr);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    ask = true;
    std::puts("launched by the runtime");
    scale<<<1, 32>>>(data, 2.0F, 32);
    cudaFunction_t function = nullptr;
    cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(scale));
    float factor = 3.0F;
    int count = 32;
    void* params[] = {&data, &factor, &count};
    std::puts("launched by the driver, a CUfunction");
    cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr);
    cudaKernel_t kernel = nullptr;
    cudaGetKernel(&kernel, reinterpret_cast<const void*>(scale));
    std::puts("launched by the driver, a CUkernel");
    cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr);
    std::printf("end: %d\n", cudaDeviceSynchronize());
    // A device reset while a graph is alive, then a new context.
    ask = false;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    scale<<<1, 32, 0, stream>>>(data, 1.0F, 32);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    std::printf("reset: %d\n", cudaDeviceReset());
    std::printf("malloc: %d\n", cudaMalloc(&data, 4096));
    scale<<<1, 32>>>(data, 2.0F, 32);
    std::printf("end: %d\n", cudaDeviceSynchronize());
    return 0;
}
