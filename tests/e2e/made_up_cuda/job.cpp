// SPDX-License-Identifier: Apache-2.0
// A job on the made-up CUDA: captures a graph, makes an executable and replays it 20 times. Prints what it
// did, the same with a collector and without.
//
//     made_up_job [remove-spool | load-copy LIBRARY | load-again | linger | level-at-end | at-once |
//     allocates | launches-late | records-first | off-first | tells-kinds | faults | fails RESULT |
//     fails-later RESULT | fails-freed RESULT]
#include "collector/api/graphdoctor_runtime.h"
#include "tests/e2e/clients/control_page.h"
#include "tests/e2e/made_up_cuda/cupti.h"
#include "tests/e2e/made_up_cuda/played_driver.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <time.h>

namespace {

using namespace gd::test;

constexpr int kReplays = 20;
constexpr int kLateMs = 1200; // two periods of flushes
constexpr int kFailingCalls = 200; // after the first
const CUstream kStream = handle<CUstream>(0x5000);

// The libcupti that the collector has loaded, if it has.
struct Cupti {
    decltype(&madeUpNotify) notify = nullptr;
    decltype(&madeUpReplay) replay = nullptr;
    decltype(&madeUpFlushes) flushes = nullptr;
    decltype(&madeUpFlushCalls) flushCalls = nullptr;
    decltype(&madeUpKinds) kinds = nullptr;
    decltype(&madeUpRefusals) refusals = nullptr;

    Cupti() {
        const char* path = std::getenv("GRAPHDOCTOR_CUPTI");
        void* library = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
        if (library != nullptr) {
            *reinterpret_cast<void**>(&notify) = dlsym(library, "madeUpNotify");
            *reinterpret_cast<void**>(&replay) = dlsym(library, "madeUpReplay");
            *reinterpret_cast<void**>(&flushes) = dlsym(library, "madeUpFlushes");
            *reinterpret_cast<void**>(&flushCalls) = dlsym(library, "madeUpFlushCalls");
            *reinterpret_cast<void**>(&kinds) = dlsym(library, "madeUpKinds");
            *reinterpret_cast<void**>(&refusals) = dlsym(library, "madeUpRefusals");
        }
    }
};

void initializeAgain(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)() = nullptr;
    if (handle != nullptr) {
        *reinterpret_cast<void**>(&initialize) = dlsym(handle, "InitializeInjection");
    }
    if (initialize != nullptr) {
        initialize();
    }
}

void aMillisecond() {
    const timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
}

// As a range of a library does that uses NVTX before CUDA; with the collector's own thread under way.
void recordBeforeCuda() {
    const char* library = std::getenv("CUDA_INJECTION64_PATH");
    void* handle = library != nullptr ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : nullptr;
    const gd_rt_table* (*attach)(std::uint32_t, const char*, clockid_t) = nullptr;
    if (handle != nullptr) {
        *reinterpret_cast<void**>(&attach) = dlsym(handle, "graphdoctor_runtime_attach");
    }
    if (attach != nullptr) {
        gd_rt_status status{};
        status.size = sizeof status;
        attach(GD_RT_VERSION, nullptr, CLOCK_MONOTONIC)->status(&status);
    }
}

// Until the collector's own thread has switched activity on, some milliseconds after the first call. Where
// something was refused it may never do so.
void awaitActivity(const Cupti& cupti) {
    while (cupti.kinds != nullptr && cupti.kinds() == 0 && cupti.refusals() == 0) {
        aMillisecond();
    }
}

// Until the collector has fetched what there is.
void awaitFlush(const Cupti& cupti) {
    while (cupti.flushes != nullptr && cupti.kinds() != 0 && cupti.flushes() == 0 && cupti.refusals() == 0) {
        aMillisecond();
    }
}

// As an exit handler from before the first CUDA call it runs after the destructors of CUPTI: the level
// changes, and the collector's own thread has the time to see it.
void changeLevels() {
    ControlPage page;
    for (std::uint32_t i = 0; i < 200; ++i) {
        page.setLevel(i % 5);
        aMillisecond();
    }
}

// As a driver whose device failed: every call returns that.
__attribute__((noinline)) void waitForTheAnswer(PlayedDriver& driver, int result) {
    driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kStream}, result);
    std::atomic_signal_fence(std::memory_order_seq_cst); // no tail call
}

void fail(PlayedDriver& driver, int result) {
    waitForTheAnswer(driver, result);
    for (int i = 0; i < kFailingCalls; ++i) {
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, cuMemFree_v2_params{0x9000}, result);
    }
}

void work(const Cupti& cupti, const std::string& mode, int result) {
    PlayedDriver driver([&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
        if (cupti.notify != nullptr) {
            cupti.notify(domain, id, data);
        }
    });
    driver.createStream(kStream, CU_STREAM_NON_BLOCKING);
    const auto awaitKinds = [&] {
        for (int i = 0; i < kLateMs && cupti.kinds != nullptr && cupti.kinds() == 0; ++i) {
            aMillisecond(); // where it never comes, the trace says so
        }
    };
    if (mode == "records-first") {
        awaitKinds();
    } else if (mode != "at-once" && mode != "off-first" && mode != "tells-kinds") {
        awaitActivity(cupti);
    }
    CUdeviceptr memory = 0x7000;
    driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&memory, 4096});
    driver.beginCapture(kStream, 1);
    // What a launch does not free again keeps graph-level tracing off.
    const CUgraphNodeType first
        = mode == "allocates" ? CU_GRAPH_NODE_TYPE_MEM_ALLOC : CU_GRAPH_NODE_TYPE_MEMSET;
    driver.captureNode(kStream, 1, 0, first);
    driver.captureNode(kStream, 1, 1, CU_GRAPH_NODE_TYPE_EMPTY);
    driver.endCapture(kStream, 1);
    driver.instantiate(1, 2, {first, CU_GRAPH_NODE_TYPE_EMPTY}, 0);
    if (mode == "off-first") {
        ControlPage().setLevel(3);
        awaitKinds();
    }
    for (int i = 0; mode == "launches-late" && i < kLateMs; ++i) {
        aMillisecond();
    }
    if (mode == "launches-late" && cupti.flushCalls != nullptr) {
        std::printf("%u flushes before the first launch\n", cupti.flushCalls());
    }
    const bool failsInReplay = mode == "fails" || mode == "fails-freed";
    for (int i = 0; i < kReplays; ++i) {
        const bool isLast = i + 1 == kReplays;
        if (isLast && mode == "fails-freed") {
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, cuMemFree_v2_params{memory});
        }
        const cuGraphLaunch_params params{handle<CUgraphExec>(2 << 8), kStream};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, params);
        if (cupti.replay != nullptr && !(isLast && failsInReplay)) {
            cupti.replay(driver.correlation(), 2);
        }
        driver.exit(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, params);
    }
    if (!failsInReplay) {
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kStream});
    }
    if (result != 0) {
        fail(driver, result);
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "level-at-end") {
        std::atexit(changeLevels);
    }
    if (mode == "off-first") {
        ControlPage().setLevel(0);
    }
    if (mode == "records-first" || mode == "off-first") {
        recordBeforeCuda();
    }
    const CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS) {
        std::printf("cuInit: %d\n", result);
        return 5;
    }
    const char* library = std::getenv("CUDA_INJECTION64_PATH");
    if (mode == "load-copy" && argc > 2) {
        initializeAgain(argv[2]);
    } else if (mode == "load-again" && library != nullptr) {
        initializeAgain(library);
    }
    const Cupti cupti;
    if (mode == "tells-kinds") {
        std::printf("%u kinds on before the first call\n", cupti.kinds != nullptr ? cupti.kinds() : 0);
    }
    work(cupti, mode, mode.starts_with("fails") && argc > 2 ? std::atoi(argv[2]) : 0);
    if (mode == "remove-spool") {
        if (const char* spool = std::getenv("GRAPHDOCTOR_SPOOL")) {
            std::error_code ignored;
            std::filesystem::remove_all(spool, ignored);
        }
        work(cupti, mode, 0);
    }
    if (mode != "remove-spool" && mode != "at-once" && mode != "off-first" && mode != "tells-kinds") {
        awaitFlush(cupti);
    }
    for (int i = 0; mode == "linger" && i < 300; ++i) {
        aMillisecond();
    }
    if (mode == "faults") {
        std::raise(SIGSEGV);
    }
    std::printf("%d replays\n", kReplays);
    return 7;
}
