// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check/cuda_job.h"

#include <dlfcn.h>
#include <time.h>

namespace gd::self_check {

#ifdef GD_SELF_CHECK_CUDA
namespace {

// Does nothing. The driver compiles it for its own device; the assembler of CUDA 13.0 takes it for sm_75 to
// sm_100.
constexpr const char* kKernel = ".version 5.0\n.target sm_50\n.address_size 64\n"
                                ".visible .entry gd_self_check()\n{\nret;\n}\n";

#define GD_TEXT(name) #name
#define GD_NAME(name) GD_TEXT(name) // the name after cuda.h's macros: cuMemAlloc_v2

Outcome refused(const char* call, CUresult result) {
    return failed(std::string(call) + " returned " + std::to_string(result),
        "see whether a CUDA program runs here without graphdoctor");
}

// Leaves the function, whose result an Outcome can become, when the driver refuses a call.
#define GD_CUDA_TRY(call, ...)                                                                               \
    if (const CUresult gdResult = (__VA_ARGS__); gdResult != CUDA_SUCCESS)                                   \
    return refused(call, gdResult)

// Some replays come one by one, the rest in a row.
std::optional<Outcome> replay(const CudaJob& job, CUgraphExec exec) {
    for (int i = 0; i < kCalls; ++i) {
        GD_CUDA_TRY("cuGraphLaunch", job.driver().launchGraph(exec, job.stream()));
        if (i < 6)
            GD_CUDA_TRY("cuStreamSynchronize", job.wait());
    }
    GD_CUDA_TRY("cuStreamSynchronize", job.wait());
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
    const CUresult begun = m_driver.init(0);
    if (begun == CUDA_SUCCESS)
        GD_CUDA_TRY("cuDeviceGetCount", m_driver.deviceCount(&count));
    if (begun == CUDA_ERROR_NO_DEVICE || (begun == CUDA_SUCCESS && count == 0))
        return absent(
            "the driver is here, but no device is visible", "see CUDA_VISIBLE_DEVICES and nvidia-smi");
    GD_CUDA_TRY("cuInit", begun);
    CUdevice device = 0;
    CUcontext context = nullptr;
    char name[128] = "";
    GD_CUDA_TRY("cuDeviceGet", m_driver.device(&device, 0));
    GD_CUDA_TRY("cuDeviceGetName", m_driver.deviceName(name, sizeof name, device));
    m_name = name;
    GD_CUDA_TRY("cuDevicePrimaryCtxRetain", m_driver.retainContext(&context, device));
    GD_CUDA_TRY("cuCtxSetCurrent", m_driver.setContext(context));
    GD_CUDA_TRY("cuStreamCreate", m_driver.createStream(&m_stream, CU_STREAM_NON_BLOCKING));
    return {};
}

CUresult CudaJob::allocate(CUdeviceptr& memory, std::size_t bytes) const {
    return m_driver.allocate(&memory, bytes);
}

Outcome runCuda() {
    CudaJob job;
    if (auto missing = job.open())
        return *missing;
    const Driver& driver = job.driver();
    CUdeviceptr memory = 0;
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    GD_CUDA_TRY("cuMemAlloc", job.allocate(memory, 4096));
    GD_CUDA_TRY("cuModuleLoadData", driver.loadModule(&module, kKernel));
    GD_CUDA_TRY("cuModuleGetFunction", driver.function(&kernel, module, "gd_self_check"));
    const auto launch
        = [&] { return driver.launchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, job.stream(), nullptr, nullptr); };
    GD_CUDA_TRY("cuLaunchKernel", launch());
    GD_CUDA_TRY("cuStreamBeginCapture", driver.beginCapture(job.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
    GD_CUDA_TRY("cuMemsetD32Async", driver.fill(memory, 1, 1024, job.stream()));
    GD_CUDA_TRY("cuLaunchKernel", launch());
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    GD_CUDA_TRY("cuStreamEndCapture", driver.endCapture(job.stream(), &graph));
    GD_CUDA_TRY("cuGraphInstantiateWithFlags", driver.instantiate(&exec, graph, 0));
    if (auto wrong = replay(job, exec))
        return *wrong;
    // Activity is fetched every 500 ms.
    const timespec pause{0, 700'000'000};
    nanosleep(&pause, nullptr);
    GD_CUDA_TRY("cuGraphExecDestroy", driver.destroyExec(exec));
    GD_CUDA_TRY("cuGraphDestroy", driver.destroyGraph(graph));
    int version = 0;
    GD_CUDA_TRY("cuDriverGetVersion", driver.driverVersion(&version));
    return ran(job.name() + ", driver for CUDA " + std::to_string(version / 1000) + "."
        + std::to_string(version % 1000 / 10));
}
#else
Outcome runCuda() {
    return withoutCuda();
}
#endif

} // namespace gd::self_check
