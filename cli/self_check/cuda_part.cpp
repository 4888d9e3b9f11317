// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check/cuda_job.h"

#include <dlfcn.h>
#include <time.h>

namespace gd::self_check {

#ifdef GD_SELF_CHECK_CUDA
namespace {

// Does nothing; every driver since CUDA 8 compiles it for its own device.
constexpr const char* kKernel = ".version 5.0\n.target sm_50\n.address_size 64\n"
                                ".visible .entry gd_self_check()\n{\nret;\n}\n";

#define GD_TEXT(name) #name
#define GD_NAME(name) GD_TEXT(name) // the name after cuda.h's macros: cuMemAlloc_v2

Outcome refused(const char* call, int result) {
    return failed(std::string(call) + " returned " + std::to_string(result),
        "see whether a CUDA program runs here without graphdoctor");
}

// Two more replays than a node window takes come one by one, the rest in a row.
std::optional<Outcome> replay(const CudaJob& job, CUgraphExec exec) {
    for (int i = 0; i < kCalls; ++i) {
        if (const int result = job.driver().launchGraph(exec, job.stream()); result != 0)
            return refused("cuGraphLaunch", result);
        if (i < 6 && !job.wait())
            return refused("cuStreamSynchronize", 1);
    }
    if (!job.wait())
        return refused("cuStreamSynchronize", 1);
    return {};
}

} // namespace

std::optional<Outcome> CudaJob::load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return absent("no NVIDIA driver: libcuda.so.1 was not found",
            "run it where there is a GPU; what needs none was checked here");
#define X(member, name)                                                                                      \
    *reinterpret_cast<void**>(&m_driver.member) = dlsym(library, GD_NAME(name));                             \
    if (m_driver.member == nullptr)                                                                          \
        return failed("libcuda.so.1 has no " GD_NAME(name), "update the NVIDIA driver");
    GD_SELF_CHECK_CALLS(X)
#undef X
    return {};
}

std::optional<Outcome> CudaJob::open() {
    if (auto missing = load())
        return missing;
    int count = 0;
    const int begun = m_driver.init(0);
    if (begun == CUDA_ERROR_NO_DEVICE
        || (begun == CUDA_SUCCESS && m_driver.deviceCount(&count) == 0 && count == 0))
        return absent(
            "the driver is here, but no device is visible", "see CUDA_VISIBLE_DEVICES and nvidia-smi");
    if (begun != CUDA_SUCCESS)
        return refused("cuInit", begun);
    CUdevice device = 0;
    CUcontext context = nullptr;
    char name[128] = "";
    if (const int result = m_driver.device(&device, 0); result != 0)
        return refused("cuDeviceGet", result);
    m_driver.deviceName(name, sizeof name, device);
    m_name = name;
    if (const int result = m_driver.retainContext(&context, device); result != 0)
        return refused("cuDevicePrimaryCtxRetain", result);
    m_driver.setContext(context);
    if (const int result = m_driver.createStream(&m_stream, CU_STREAM_NON_BLOCKING); result != 0)
        return refused("cuStreamCreate", result);
    return {};
}

void* CudaJob::allocate(std::size_t bytes) const {
    CUdeviceptr memory = 0;
    return m_driver.allocate(&memory, bytes) == CUDA_SUCCESS ? reinterpret_cast<void*>(memory) : nullptr;
}

Outcome runCuda() {
    CudaJob job;
    if (auto missing = job.open())
        return *missing;
    const Driver& driver = job.driver();
    const auto memory = reinterpret_cast<CUdeviceptr>(job.allocate(4096));
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    if (const int result = driver.loadModule(&module, kKernel); result != 0)
        return refused("cuModuleLoadData", result);
    driver.function(&kernel, module, "gd_self_check");
    const auto launch
        = [&] { return driver.launchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, job.stream(), nullptr, nullptr); };
    if (const int result = launch(); result != 0)
        return refused("cuLaunchKernel", result);
    if (const int result = driver.beginCapture(job.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL); result != 0)
        return refused("cuStreamBeginCapture", result);
    driver.fill(memory, 1, 1024, job.stream());
    launch();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    if (const int result = driver.endCapture(job.stream(), &graph); result != 0)
        return refused("cuStreamEndCapture", result);
    if (const int result = driver.instantiate(&exec, graph, 0); result != 0)
        return refused("cuGraphInstantiateWithFlags", result);
    if (auto wrong = replay(job, exec))
        return *wrong;
    // Activity is fetched every 500 ms.
    const timespec pause{0, 700'000'000};
    nanosleep(&pause, nullptr);
    driver.destroyExec(exec);
    driver.destroyGraph(graph);
    int version = 0;
    driver.driverVersion(&version);
    return ran(job.name() + ", driver for CUDA " + std::to_string(version / 1000) + "."
        + std::to_string(version % 1000 / 10));
}
#else
Outcome runCuda() {
    return withoutCuda();
}
#endif

} // namespace gd::self_check
