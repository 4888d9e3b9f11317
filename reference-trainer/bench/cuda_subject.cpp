// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API as conformance subject. The library is loaded at run time and the few declarations
// needed are written here, so that the program builds without a toolkit. Prototypes and numbers: cuda.h of
// CUDA 13.0.
#include "capture_subject.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>

namespace gdt::bench {

namespace {

using Result = int;
using Handle = void*;
using DevicePointer = unsigned long long;

struct UpdateInfo {
    int result;
    Handle errorNode;
    Handle errorFromNode;
};

struct Driver {
    Result (*init)(unsigned);
    Result (*deviceGet)(int*, int);
    Result (*primaryRetain)(Handle*, int);
    Result (*primaryReset)(int);
    Result (*primaryRelease)(int);
    Result (*setCurrent)(Handle);
    Result (*moduleLoadData)(Handle*, const void*);
    Result (*moduleGetFunction)(Handle*, Handle, const char*);
    Result (*launchKernel)(
        Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
    Result (*streamCreate)(Handle*, unsigned);
    Result (*streamDestroy)(Handle);
    Result (*streamSynchronize)(Handle);
    Result (*streamQuery)(Handle);
    Result (*streamBeginCapture)(Handle, int);
    Result (*streamEndCapture)(Handle, Handle*);
    Result (*streamIsCapturing)(Handle, int*);
    Result (*threadExchangeMode)(int*);
    Result (*streamWaitEvent)(Handle, Handle, unsigned);
    Result (*eventCreate)(Handle*, unsigned);
    Result (*eventDestroy)(Handle);
    Result (*eventRecord)(Handle, Handle, unsigned);
    Result (*eventSynchronize)(Handle);
    Result (*eventQuery)(Handle);
    Result (*eventElapsed)(float*, Handle, Handle);
    Result (*ctxSynchronize)();
    Result (*memAlloc)(DevicePointer*, std::size_t);
    Result (*memFree)(DevicePointer);
    Result (*memHostAlloc)(void**, std::size_t, unsigned);
    Result (*memFreeHost)(void*);
    Result (*memAllocAsync)(DevicePointer*, std::size_t, Handle);
    Result (*memFreeAsync)(DevicePointer, Handle);
    Result (*memcpyHtoD)(DevicePointer, const void*, std::size_t);
    Result (*memcpyDtoH)(void*, DevicePointer, std::size_t);
    Result (*memcpyHtoDAsync)(DevicePointer, const void*, std::size_t, Handle);
    Result (*memsetD8)(DevicePointer, unsigned char, std::size_t);
    Result (*memsetD8Async)(DevicePointer, unsigned char, std::size_t, Handle);
    Result (*memGetInfo)(std::size_t*, std::size_t*);
    Result (*launchHostFunc)(Handle, void (*)(void*), void*);
    Result (*graphInstantiate)(Handle*, Handle, unsigned long long);
    Result (*graphLaunch)(Handle, Handle);
    Result (*graphExecUpdate)(Handle, Handle, UpdateInfo*);
    Result (*graphExecDestroy)(Handle);
    Result (*graphDestroy)(Handle);
    Result (*graphGetNodes)(Handle, Handle*, std::size_t*);
};

struct Symbol {
    const char* name;
    std::size_t offset;
};

#define GDT_SYMBOL(member, name)                                                                             \
    { name, offsetof(Driver, member) }
constexpr Symbol kSymbols[] = {
    GDT_SYMBOL(init, "cuInit"),
    GDT_SYMBOL(deviceGet, "cuDeviceGet"),
    GDT_SYMBOL(primaryRetain, "cuDevicePrimaryCtxRetain"),
    GDT_SYMBOL(primaryReset, "cuDevicePrimaryCtxReset_v2"),
    GDT_SYMBOL(primaryRelease, "cuDevicePrimaryCtxRelease_v2"),
    GDT_SYMBOL(setCurrent, "cuCtxSetCurrent"),
    GDT_SYMBOL(moduleLoadData, "cuModuleLoadData"),
    GDT_SYMBOL(moduleGetFunction, "cuModuleGetFunction"),
    GDT_SYMBOL(launchKernel, "cuLaunchKernel"),
    GDT_SYMBOL(streamCreate, "cuStreamCreate"),
    GDT_SYMBOL(streamDestroy, "cuStreamDestroy_v2"),
    GDT_SYMBOL(streamSynchronize, "cuStreamSynchronize"),
    GDT_SYMBOL(streamQuery, "cuStreamQuery"),
    GDT_SYMBOL(streamBeginCapture, "cuStreamBeginCapture_v2"),
    GDT_SYMBOL(streamEndCapture, "cuStreamEndCapture"),
    GDT_SYMBOL(streamIsCapturing, "cuStreamIsCapturing"),
    GDT_SYMBOL(threadExchangeMode, "cuThreadExchangeStreamCaptureMode"),
    GDT_SYMBOL(streamWaitEvent, "cuStreamWaitEvent"),
    GDT_SYMBOL(eventCreate, "cuEventCreate"),
    GDT_SYMBOL(eventDestroy, "cuEventDestroy_v2"),
    GDT_SYMBOL(eventRecord, "cuEventRecordWithFlags"),
    GDT_SYMBOL(eventSynchronize, "cuEventSynchronize"),
    GDT_SYMBOL(eventQuery, "cuEventQuery"),
    GDT_SYMBOL(eventElapsed, "cuEventElapsedTime"),
    GDT_SYMBOL(ctxSynchronize, "cuCtxSynchronize"),
    GDT_SYMBOL(memAlloc, "cuMemAlloc_v2"),
    GDT_SYMBOL(memFree, "cuMemFree_v2"),
    GDT_SYMBOL(memHostAlloc, "cuMemHostAlloc"),
    GDT_SYMBOL(memFreeHost, "cuMemFreeHost"),
    GDT_SYMBOL(memAllocAsync, "cuMemAllocAsync"),
    GDT_SYMBOL(memFreeAsync, "cuMemFreeAsync"),
    GDT_SYMBOL(memcpyHtoD, "cuMemcpyHtoD_v2"),
    GDT_SYMBOL(memcpyDtoH, "cuMemcpyDtoH_v2"),
    GDT_SYMBOL(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
    GDT_SYMBOL(memsetD8, "cuMemsetD8_v2"),
    GDT_SYMBOL(memsetD8Async, "cuMemsetD8Async"),
    GDT_SYMBOL(memGetInfo, "cuMemGetInfo_v2"),
    GDT_SYMBOL(launchHostFunc, "cuLaunchHostFunc"),
    GDT_SYMBOL(graphInstantiate, "cuGraphInstantiateWithFlags"),
    GDT_SYMBOL(graphLaunch, "cuGraphLaunch"),
    GDT_SYMBOL(graphExecUpdate, "cuGraphExecUpdate_v2"),
    GDT_SYMBOL(graphExecDestroy, "cuGraphExecDestroy"),
    GDT_SYMBOL(graphDestroy, "cuGraphDestroy"),
    GDT_SYMBOL(graphGetNodes, "cuGraphGetNodes"),
};
#undef GDT_SYMBOL

constexpr char kModule[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 counter, .param .u32 addend)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<4>;
    ld.param.u64 %rd1, [counter];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [addend];
    atom.global.add.u32 %r2, [%rd2], %r1;
    ret;
}
.visible .entry add_other(.param .u64 counter, .param .u32 addend)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<4>;
    ld.param.u64 %rd1, [counter];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [addend];
    atom.global.add.u32 %r2, [%rd2], %r1;
    ret;
}
)";

class CudaSubject final : public CaptureSubject {
public:
    explicit CudaSubject(const Driver& driver)
        : m_driver(driver) { }

    ~CudaSubject() override {
        m_driver.primaryReset(0);
        m_driver.primaryRelease(0);
    }

    bool start(std::string& why) {
        int device = 0;
        if (m_driver.init(0) != 0 || m_driver.deviceGet(&device, 0) != 0
            || m_driver.primaryRetain(&m_context, device) != 0 || m_driver.setCurrent(m_context) != 0) {
            why = "no CUDA device can be opened";
            return false;
        }
        Handle module = nullptr;
        if (m_driver.moduleLoadData(&module, kModule) != 0
            || m_driver.moduleGetFunction(&m_add, module, "add") != 0
            || m_driver.moduleGetFunction(&m_addOther, module, "add_other") != 0) {
            why = "the test kernels cannot be loaded";
            return false;
        }
        exchangeMode(0);
        allocate(1);
        allocateHost(1);
        m_driver.memsetD8(m_device[1], 0, kBytes);
        // First launches load code, which a capture would forbid or which would hide a code.
        launchWith(m_add, nullptr, 0);
        launchWith(m_addOther, nullptr, 0);
        return m_driver.ctxSynchronize() == 0;
    }

    int begin(int stream, int mode) override {
        return enter() + m_driver.streamBeginCapture(at(stream), mode);
    }
    int end(int stream, int graph) override {
        return enter() + m_driver.streamEndCapture(at(stream), &m_graph.at(index(graph)));
    }
    int captureStatus(int stream) override {
        int status = -1;
        const int code = enter() + m_driver.streamIsCapturing(at(stream), &status);
        return code != 0 ? code : status;
    }
    int exchangeMode(int mode) override { return enter() + m_driver.threadExchangeMode(&mode); }

    int launch(int stream) override { return launchWith(m_add, at(stream), 1); }
    int launchOther(int stream) override { return launchWith(m_addOther, at(stream), 100); }
    int launchScaled(int stream, int addend) override { return launchWith(m_add, at(stream), addend); }
    int copyPinned(int stream) override {
        return enter() + m_driver.memcpyHtoDAsync(m_device[1] + 64, m_host[1], 64, at(stream));
    }
    int copyPageable(int stream) override {
        return enter() + m_driver.memcpyHtoDAsync(m_device[1] + 64, m_pageable.data(), 64, at(stream));
    }
    int fill(int stream) override {
        return enter() + m_driver.memsetD8Async(m_device[1] + 64, 1, 64, at(stream));
    }
    int hostFunction(int stream) override {
        return enter()
            + m_driver.launchHostFunc(
                at(stream), [](void*) {}, nullptr);
    }
    int hostFunctionCallingApi(int stream) override {
        return enter()
            + m_driver.launchHostFunc(
                at(stream),
                [](void* self) {
                    auto& subject = *static_cast<CudaSubject*>(self);
                    DevicePointer pointer = 0;
                    subject.m_hostCode = subject.enter() + subject.m_driver.memAlloc(&pointer, kBytes);
                },
                this);
    }
    int record(int event, int stream, bool external) override {
        return enter() + m_driver.eventRecord(m_event.at(index(event)), at(stream), external ? 1U : 0U);
    }
    int wait(int stream, int event, bool external) override {
        return enter() + m_driver.streamWaitEvent(at(stream), m_event.at(index(event)), external ? 1U : 0U);
    }

    int synchronize(int stream) override { return enter() + m_driver.streamSynchronize(at(stream)); }
    int query(int stream) override { return enter() + m_driver.streamQuery(at(stream)); }
    int deviceSynchronize() override { return enter() + m_driver.ctxSynchronize(); }
    int eventSynchronize(int event) override {
        return enter() + m_driver.eventSynchronize(m_event.at(index(event)));
    }
    int eventQuery(int event) override { return enter() + m_driver.eventQuery(m_event.at(index(event))); }
    int elapsed(int first, int second) override {
        float ms = 0;
        return enter() + m_driver.eventElapsed(&ms, m_event.at(index(first)), m_event.at(index(second)));
    }

    int allocate(int memory) override {
        return enter() + m_driver.memAlloc(&m_device.at(index(memory)), kBytes);
    }
    int release(int memory) override { return enter() + m_driver.memFree(m_device.at(index(memory))); }
    int allocateHost(int memory) override {
        return enter() + m_driver.memHostAlloc(&m_host.at(index(memory)), kBytes, 0);
    }
    int releaseHost(int memory) override { return enter() + m_driver.memFreeHost(m_host.at(index(memory))); }
    int allocateAsync(int memory, int stream) override {
        return enter() + m_driver.memAllocAsync(&m_device.at(index(memory)), kBytes, at(stream));
    }
    int releaseAsync(int memory, int stream) override {
        return enter() + m_driver.memFreeAsync(m_device.at(index(memory)), at(stream));
    }
    int copySync() override { return enter() + m_driver.memcpyHtoD(m_device[1] + 64, m_pageable.data(), 64); }
    int copyBackSync() override {
        return enter() + m_driver.memcpyDtoH(m_pageable.data(), m_device[1] + 64, 64);
    }
    int fillSync() override { return enter() + m_driver.memsetD8(m_device[1] + 64, 0, 64); }
    int memoryInfo() override {
        std::size_t free = 0;
        std::size_t total = 0;
        return enter() + m_driver.memGetInfo(&free, &total);
    }

    int createStream(int stream) override {
        return enter() + m_driver.streamCreate(&m_stream.at(index(stream)), stream > 4 ? 1U : 0U);
    }
    int destroyStream(int stream) override { return enter() + m_driver.streamDestroy(at(stream)); }
    int createEvent(int event) override {
        return enter() + m_driver.eventCreate(&m_event.at(index(event)), 0);
    }
    int destroyEvent(int event) override { return enter() + m_driver.eventDestroy(m_event.at(index(event))); }

    int instantiate(int exec, int graph) override {
        return enter() + m_driver.graphInstantiate(&m_exec.at(index(exec)), m_graph.at(index(graph)), 0);
    }
    int replay(int exec, int stream) override {
        return enter() + m_driver.graphLaunch(m_exec.at(index(exec)), at(stream));
    }
    int update(int exec, int graph) override {
        return enter()
            + m_driver.graphExecUpdate(m_exec.at(index(exec)), m_graph.at(index(graph)), &m_update);
    }
    int updateResult() override { return m_update.result; }
    int destroyExec(int exec) override { return enter() + m_driver.graphExecDestroy(m_exec.at(index(exec))); }
    int destroyGraph(int graph) override { return enter() + m_driver.graphDestroy(m_graph.at(index(graph))); }
    int nodeCount(int graph) override {
        std::size_t count = 0;
        const int code = enter() + m_driver.graphGetNodes(m_graph.at(index(graph)), nullptr, &count);
        return code != 0 ? code : static_cast<int>(count);
    }

    int counter() override {
        int value = -1;
        int code = enter() + m_driver.ctxSynchronize();
        if (code == 0)
            code = m_driver.memcpyDtoH(&value, m_device[1], sizeof(value));
        return code != 0 ? -code : value;
    }
    int hostFunctionResult() override { return m_hostCode; }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    // A thread other than the first has no current context until it sets one. Adds nothing to a code.
    int enter() {
        m_driver.setCurrent(m_context);
        return 0;
    }
    Handle at(int stream) const {
        return stream == kLegacy ? reinterpret_cast<Handle>(std::uintptr_t{1}) : m_stream.at(index(stream));
    }
    int launchWith(Handle function, Handle stream, int addend) {
        void* arguments[] = {&m_device[1], &addend};
        return enter() + m_driver.launchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
    }

    const Driver& m_driver;
    Handle m_context = nullptr;
    Handle m_add = nullptr;
    Handle m_addOther = nullptr;
    std::array<Handle, kStreams> m_stream{};
    std::array<Handle, kObjects> m_event{};
    std::array<Handle, kObjects> m_graph{};
    std::array<Handle, kObjects> m_exec{};
    std::array<DevicePointer, kObjects> m_device{};
    std::array<void*, kObjects> m_host{};
    std::array<char, 64> m_pageable{};
    UpdateInfo m_update{};
    int m_hostCode = -1;
};

const Driver* loadDriver(std::string& why) {
    static Driver driver;
    static bool loaded = false;
    if (loaded)
        return &driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        why = "libcuda.so.1 is not on this machine";
        return nullptr;
    }
    for (const Symbol& symbol : kSymbols) {
        void* address = dlsym(library, symbol.name);
        if (address == nullptr) {
            why = std::string("the driver lacks ") + symbol.name;
            return nullptr;
        }
        *reinterpret_cast<void**>(reinterpret_cast<char*>(&driver) + symbol.offset) = address;
    }
    loaded = true;
    return &driver;
}

} // namespace

std::unique_ptr<CaptureSubject> makeCudaSubject(std::string& why) {
    const Driver* driver = loadDriver(why);
    if (driver == nullptr)
        return nullptr;
    auto subject = std::make_unique<CudaSubject>(*driver);
    if (!subject->start(why))
        return nullptr;
    return subject;
}

} // namespace gdt::bench
