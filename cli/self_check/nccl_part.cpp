// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check/part.h"

#include "cli/self_check/cuda_job.h"

#include <dlfcn.h>

namespace gd::self_check {

#ifdef GD_SELF_CHECK_CUDA
namespace {

// The few calls of NCCL's public interface that one rank needs (nccl.h; the numbers have not changed since
// 2.0).
constexpr int kFloat32 = 7;
constexpr int kSum = 0;

struct Nccl {
    int (*version)(int*) = nullptr;
    int (*initAll)(void**, int, const int*) = nullptr;
    int (*allReduce)(const void*, void*, std::size_t, int, int, void*, CUstream) = nullptr;
    int (*destroy)(void*) = nullptr;

    bool load(void* library) {
        const auto find = [&](auto& function, const char* name) {
            *reinterpret_cast<void**>(&function) = dlsym(library, name);
            return function != nullptr;
        };
        return find(version, "ncclGetVersion") && find(initAll, "ncclCommInitAll")
            && find(allReduce, "ncclAllReduce") && find(destroy, "ncclCommDestroy");
    }
};

Outcome trouble(const char* call, int result) {
    return failed(std::string(call) + " returned " + std::to_string(result),
        "run it again with NCCL_DEBUG=WARN to see what NCCL says");
}

} // namespace

Outcome runNccl(const char* path) {
    CudaJob cuda;
    if (auto missing = cuda.open())
        return *missing;
    void* library = *path != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library == nullptr)
        library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    Nccl nccl;
    if (library == nullptr || !nccl.load(library))
        return absent("libnccl.so.2 was not found",
            "name its folder in LD_LIBRARY_PATH, or name the Python that brings it: --self-check -- PYTHON");
    int version = 0;
    void* comm = nullptr;
    const int device = 0;
    if (const int result = nccl.version(&version); result != 0)
        return trouble("ncclGetVersion", result);
    if (const int result = nccl.initAll(&comm, 1, &device); result != 0)
        return trouble("ncclCommInitAll", result);
    constexpr std::size_t kFloats = 1024;
    CUdeviceptr data = 0;
    if (const CUresult result = cuda.allocate(data, kFloats * sizeof(float)); result != CUDA_SUCCESS)
        return trouble("cuMemAlloc", result);
    auto* floats = reinterpret_cast<void*>(data);
    for (int i = 0; i < kCalls; ++i) {
        if (const int result = nccl.allReduce(floats, floats, kFloats, kFloat32, kSum, comm, cuda.stream());
            result != 0)
            return trouble("ncclAllReduce", result);
    }
    if (const CUresult result = cuda.wait(); result != CUDA_SUCCESS)
        return trouble("cuStreamSynchronize", result);
    if (const int result = nccl.destroy(comm); result != 0)
        return trouble("ncclCommDestroy", result);
    return ran("NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "."
        + std::to_string(version % 100) + ", all-reduces over one rank");
}
#else
Outcome runNccl(const char*) {
    return withoutCuda();
}
#endif

} // namespace gd::self_check
