// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: No runtime library at all: libcuda.so.1 is loaded with dlopen, the kernel is PTX text, one graph is
//   built by hand (cuGraphAddKernelNode, cuGraphAddMemsetNode) and one captured; the first one's argument is
//   changed before each launch.
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define LOAD(name) const auto p_##name = reinterpret_cast<decltype(&name)>(find(library, TEXT(name)))
#define CU(call)                                                                                             \
    do {                                                                                                     \
        const CUresult status_ = (call);                                                                     \
        if (status_ != CUDA_SUCCESS) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status_));   \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

namespace {

constexpr unsigned kCount = 1 << 16;
constexpr int kSteps = 350;

// data[i] = f(data[i] + key), f: `rounds` steps of x = x * 1664525 + 1013904223; x ^= x >> 13
const char* const kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry churn(.param .u64 churn_data, .param .u32 churn_rounds, .param .u32 churn_key)
{
    .reg .pred %p<2>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [churn_data];
    ld.param.u32 %r1, [churn_rounds];
    ld.param.u32 %r2, [churn_key];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    add.u32 %r7, %r7, %r2;
LOOP:
    mad.lo.u32 %r7, %r7, 1664525, 1013904223;
    shr.u32 %r8, %r7, 13;
    xor.b32 %r7, %r7, %r8;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra LOOP;
    st.global.u32 [%rd4], %r7;
    ret;
}
)";

void* find(void* library, const char* name) {
    void* address = dlsym(library, name);
    if (address == nullptr) {
        std::fprintf(stderr, "no %s\n", name);
        std::exit(1);
    }
    return address;
}

unsigned churned(unsigned x, unsigned rounds, unsigned key) {
    x += key;
    for (unsigned i = 0; i < rounds; ++i) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 13;
    }
    return x;
}

} // namespace

int main() {
    alarm(40);
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    LOAD(cuInit);
    LOAD(cuDeviceGet);
    LOAD(cuDevicePrimaryCtxRetain);
    LOAD(cuDevicePrimaryCtxRelease);
    LOAD(cuCtxSetCurrent);
    LOAD(cuModuleLoadData);
    LOAD(cuModuleUnload);
    LOAD(cuModuleGetFunction);
    LOAD(cuMemAlloc);
    LOAD(cuMemFree);
    LOAD(cuMemcpyDtoH);
    LOAD(cuMemsetD32Async);
    LOAD(cuStreamCreate);
    LOAD(cuStreamDestroy);
    LOAD(cuStreamSynchronize);
    LOAD(cuStreamBeginCapture);
    LOAD(cuStreamEndCapture);
    LOAD(cuLaunchKernel);
    LOAD(cuGraphCreate);
    LOAD(cuGraphDestroy);
    LOAD(cuGraphAddKernelNode);
    LOAD(cuGraphAddMemsetNode);
    LOAD(cuGraphInstantiate);
    LOAD(cuGraphExecKernelNodeSetParams);
    LOAD(cuGraphExecDestroy);
    LOAD(cuGraphUpload);
    LOAD(cuGraphLaunch);

    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction churn = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr data = 0, scratch = 0;
    CU(p_cuInit(0));
    CU(p_cuDeviceGet(&device, 0));
    CU(p_cuDevicePrimaryCtxRetain(&context, device));
    CU(p_cuCtxSetCurrent(context));
    CU(p_cuModuleLoadData(&module, kPtx));
    CU(p_cuModuleGetFunction(&churn, module, "churn"));
    CU(p_cuMemAlloc(&data, kCount * sizeof(unsigned)));
    CU(p_cuMemAlloc(&scratch, kCount * sizeof(unsigned)));
    CU(p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(p_cuMemsetD32Async(data, 1, kCount, stream));

    CUgraph built = nullptr, captured = nullptr;
    CUgraphNode filled = nullptr, first = nullptr, second = nullptr;
    CU(p_cuGraphCreate(&built, 0));
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = scratch;
    fill.elementSize = 4;
    fill.value = 5;
    fill.width = kCount;
    fill.height = 1;
    CU(p_cuGraphAddMemsetNode(&filled, built, nullptr, 0, &fill, context));
    unsigned rounds = 4000, key = 0;
    void* dataArgs[] = {&data, &rounds, &key};
    void* scratchArgs[] = {&scratch, &rounds, &key};
    CUDA_KERNEL_NODE_PARAMS kernel{};
    kernel.func = churn;
    kernel.gridDimX = kCount / 256;
    kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.blockDimX = 256;
    kernel.kernelParams = scratchArgs;
    CU(p_cuGraphAddKernelNode(&first, built, &filled, 1, &kernel));
    kernel.kernelParams = dataArgs;
    CU(p_cuGraphAddKernelNode(&second, built, &first, 1, &kernel));

    CU(p_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(p_cuLaunchKernel(churn, kCount / 256, 1, 1, 256, 1, 1, 0, stream, dataArgs, nullptr));
    CU(p_cuLaunchKernel(churn, kCount / 256, 1, 1, 256, 1, 1, 0, stream, dataArgs, nullptr));
    CU(p_cuStreamEndCapture(stream, &captured));

    CUgraphExec stepped = nullptr, settled = nullptr;
    CU(p_cuGraphInstantiate(&stepped, built, 0));
    CU(p_cuGraphInstantiate(&settled, captured, 0));
    CU(p_cuGraphUpload(stepped, stream));
    unsigned wanted = 1;
    for (int step = 0; step < kSteps; ++step) {
        key = static_cast<unsigned>(step);
        CU(p_cuGraphExecKernelNodeSetParams(stepped, second, &kernel));
        CU(p_cuGraphLaunch(stepped, stream));
        CU(p_cuGraphLaunch(settled, stream));
        wanted = churned(churned(churned(wanted, rounds, key), rounds, 0), rounds, 0);
    }
    CU(p_cuStreamSynchronize(stream));
    unsigned got = 0;
    CU(p_cuMemcpyDtoH(&got, data, sizeof got));
    std::printf("data %08x (expected %08x)\n", got, wanted);
    CU(p_cuGraphExecDestroy(stepped));
    CU(p_cuGraphExecDestroy(settled));
    CU(p_cuGraphDestroy(built));
    CU(p_cuGraphDestroy(captured));
    CU(p_cuStreamDestroy(stream));
    CU(p_cuMemFree(data));
    CU(p_cuMemFree(scratch));
    CU(p_cuModuleUnload(module));
    CU(p_cuDevicePrimaryCtxRelease(device));
    return got == wanted ? 0 : 1;
}
