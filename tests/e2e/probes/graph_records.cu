// SPDX-License-Identifier: Apache-2.0
// Question: does CUPTI give the device memory of its records back, and when?
// A client of its own: replays a graph of 200 tiny kernels 1,500 times a second and prints, each half second
// and at the end, the records delivered of those expected, and the device memory taken since the first half
// second. A pool that is never used again shows as records that stop: give it a small size and limit. Usage:
// graph_records SECONDS [kind=node|graph|eager|light|none|bare] [size=BYTES] [limit=BUFFERS] [pinned=1]
// [flush=FLAG] [nodes=COUNT] [rate=REPLAYS_A_SECOND] [enable=KIND]... [period=MS] [OPTION=1]...
//   kind       node records of replays (default), one record a replay, kernels launched one by one (eager);
//              light and none: such kernels with graph tracing alone, and with a subscriber alone; bare:
//              without CUPTI
//   enable     number of one more activity kind
//   period     cuptiActivityFlushPeriod
//   alone      without a subscriber
//   driver     eager kernels through cuLaunchKernel
//   latency    cuptiActivityEnableLatencyTimestamps
//   way        what is on while the graph is instantiated: 0 graph tracing alone (default), 1 kernels alone,
//              graph tracing never; 2 kernels, graph tracing on and off before; 3 the same after; 4 both; 5
//              both, and graph tracing already at the capture; 6 both, kernels switched on last
//   shared     one buffer of records for all threads
//   flush      argument of cuptiActivityFlushAll, each 500 ms on another thread (default 0)
//   here       the flush happens on the launching thread, after a device synchronise
//   switch     each 300 ms kernel records off, forced flush, on again
//   fresh      each 300 ms the executable is destroyed and made again
//   mixed      a kernel launched by itself after each replay
//   unwaited   replays are not waited for, one by one
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <string>
#include <thread>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <unistd.h>

__global__ void addOne(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F;
}

static std::atomic<long> g_records{0};
static std::atomic<long> g_untimed{0};
static std::atomic<long> g_dropped{0};

static void CUPTIAPI onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { }

static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *bytes = 4 << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
    *records = 0;
}

static void CUPTIAPI completed(
    CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            g_records.fetch_add(1);
            g_untimed.fetch_add(reinterpret_cast<CUpti_ActivityKernel10*>(record)->start == 0 ? 1 : 0);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
            g_records.fetch_add(1);
            g_untimed.fetch_add(reinterpret_cast<CUpti_ActivityGraphTrace2*>(record)->start == 0 ? 1 : 0);
        }
    }
    std::size_t dropped = 0;
    cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    g_dropped.fetch_add(static_cast<long>(dropped));
    std::free(buffer);
}

static long option(int argc, char** argv, const char* name, long otherwise) {
    const std::string prefix = std::string(name) + "=";
    for (int i = 2; i < argc; ++i) {
        if (std::strncmp(argv[i], prefix.c_str(), prefix.size()) == 0) {
            return std::atol(argv[i] + prefix.size());
        }
    }
    return otherwise;
}

template <class Value> static void set(CUpti_ActivityAttribute attribute, Value value) {
    std::size_t size = sizeof value;
    if (cuptiActivitySetAttribute(attribute, &size, &value) != CUPTI_SUCCESS) {
        std::printf("attribute %d refused\n", static_cast<int>(attribute));
    }
}

static long privateKiB() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("RssAnon:", 0) == 0) {
            return std::atol(line.c_str() + 8);
        }
    }
    return 0;
}

// Bytes in use of the heap, and those that it keeps without use, in KiB.
static void printHeap(const char* when) {
    const struct mallinfo2 info = mallinfo2();
    std::printf("%s: heap used %zu KiB, unused %zu KiB, mapped %zu KiB, RssAnon %ld KiB\n", when,
        info.uordblks / 1024, info.fordblks / 1024, info.hblkhd / 1024, privateKiB());
}

static long usedKiB() {
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    return static_cast<long>((total - free) / 1024);
}

struct Job {
    cudaStream_t stream = nullptr;
    float* data = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUfunction function = nullptr; ///< launched instead of the runtime's
    long way = 0;

    void kernels(int count) {
        void* arguments[] = {&data};
        for (int i = 0; i < count; ++i) {
            if (function != nullptr) {
                cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
            } else {
                addOne<<<8, 128, 0, stream>>>(data);
            }
        }
    }
    static void kernelRecords(bool on) {
        (on ? cuptiActivityEnable : cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    static void graphTracing(bool on) {
        (on ? cuptiActivityEnable : cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    }
    // Without graph tracing here the first launch with it on would crash.
    void instantiate() {
        if (way == 0 || way == 6) {
            kernelRecords(false);
        }
        if (way != 1 && way != 3) {
            graphTracing(true);
        }
        if (way == 2) {
            graphTracing(false);
        }
        if (way == 6) {
            kernelRecords(true);
        }
        cudaGraphInstantiate(&exec, graph, 0);
        if (way == 3) {
            graphTracing(true);
        }
        if (way != 1 && way != 2) {
            graphTracing(false);
        }
        if (way == 0) {
            kernelRecords(true);
        }
    }
};

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
    const auto flag = static_cast<std::uint32_t>(option(argc, argv, "flush", 0));
    std::string kind = "node";
    for (int i = 2; i < argc; ++i) {
        kind = std::strncmp(argv[i], "kind=", 5) == 0 ? argv[i] + 5 : kind;
    }
    if (const long limit = option(argc, argv, "limit", 0)) {
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, static_cast<std::size_t>(limit));
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 1);
    }
    if (const long size = option(argc, argv, "size", 0)) {
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, static_cast<std::size_t>(size));
    }
    if (option(argc, argv, "pinned", 0) != 0) {
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
    }
    if (option(argc, argv, "shared", 0) != 0) {
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
    }
    if (option(argc, argv, "latency", 0) != 0) {
        cuptiActivityEnableLatencyTimestamps(1);
    }
    const long nodes = option(argc, argv, "nodes", 200);
    const double gapUs = 1e6 / static_cast<double>(option(argc, argv, "rate", 1500));
    CUpti_SubscriberHandle subscriber = nullptr;
    const bool bare = kind == "bare";
    if (!bare && option(argc, argv, "alone", 0) == 0) {
        cuptiSubscribe(&subscriber, onCallback, nullptr);
    }
    if (!bare) {
        cuptiActivityRegisterCallbacks(requested, completed);
    }
    Job job;
    job.way = kind == "node" ? option(argc, argv, "way", 0) : 1;
    if (job.way == 5) {
        Job::graphTracing(true);
    }
    cudaMalloc(&job.data, 4096);
    cudaStreamCreateWithFlags(&job.stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(job.stream, cudaStreamCaptureModeGlobal);
    job.kernels(static_cast<int>(nodes));
    cudaStreamEndCapture(job.stream, &job.graph);
    if (kind != "none" && !bare) {
        cuptiActivityEnable(kind == "graph" || kind == "light" ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE
                                                               : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    for (int i = 2; i < argc; ++i) {
        if (std::strncmp(argv[i], "enable=", 7) == 0
            && cuptiActivityEnable(static_cast<CUpti_ActivityKind>(std::atoi(argv[i] + 7)))
                != CUPTI_SUCCESS) {
            std::printf("kind %s refused\n", argv[i] + 7);
        }
    }
    if (const long period = option(argc, argv, "period", 0)) {
        cuptiActivityFlushPeriod(static_cast<std::uint32_t>(period));
    }
    job.instantiate();
    printHeap("begin");
    if (option(argc, argv, "driver", 0) != 0) {
        cudaGetFuncBySymbol(&job.function, reinterpret_cast<const void*>(addOne));
    }
    const long privateBefore = privateKiB();
    const bool here = option(argc, argv, "here", 0) != 0;
    std::atomic<bool> done{false};
    std::thread flusher([&] {
        while (!done.load()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            if (!here && !bare) {
                cuptiActivityFlushAll(flag);
            }
        }
    });
    const auto start = std::chrono::steady_clock::now();
    const long total = static_cast<long>(seconds * 1e6 / gapUs);
    const long each = kind == "graph" ? 1 : nodes;
    const bool mixed = option(argc, argv, "mixed", 0) != 0;
    const bool waited = option(argc, argv, "unwaited", 0) == 0;
    long before = 0;
    for (long i = 0; i < total; ++i) {
        const auto due = start + std::chrono::microseconds(static_cast<long>(static_cast<double>(i) * gapUs));
        std::this_thread::sleep_until(due - std::chrono::microseconds(60));
        while (std::chrono::steady_clock::now() < due) { }
        if (kind == "eager" || kind == "light" || kind == "none" || bare) {
            job.kernels(static_cast<int>(nodes));
        } else {
            cudaGraphLaunch(job.exec, job.stream);
            job.kernels(mixed ? 1 : 0);
        }
        if (waited) {
            cudaStreamSynchronize(job.stream);
        }
        if (i % 450 == 449) {
            cudaDeviceSynchronize();
            if (here) {
                cuptiActivityFlushAll(flag);
            }
            if (option(argc, argv, "switch", 0) != 0) {
                cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
                cuptiActivityFlushAll(1);
                cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
            }
            if (option(argc, argv, "fresh", 0) != 0) {
                cudaGraphExecDestroy(job.exec);
                job.instantiate();
            }
        }
        if (i % 750 == 749) {
            before = before == 0 ? usedKiB() : before;
            std::printf("%ld of %ld %+ld KiB; ", g_records.load(), (i + 1) * (each + (mixed ? 1 : 0)),
                usedKiB() - before);
        }
    }
    cudaDeviceSynchronize();
    done.store(true);
    flusher.join();
    if (!bare) {
        cuptiActivityFlushAll(1);
    }
    std::printf("end %ld of %ld, without times %ld, dropped %ld, RssAnon %+ld KiB since the start\n",
        g_records.load(), total * (each + (mixed ? 1 : 0)), g_untimed.load(), g_dropped.load(),
        privateKiB() - privateBefore);
    printHeap("end");
    if (!bare) {
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        cuptiActivityFlushAll(1);
        printHeap("records off");
    }
    cudaStreamDestroy(job.stream);
    printHeap("stream destroyed");
    malloc_trim(0);
    printHeap("trimmed");
    std::fflush(stdout);
    _exit(0);
}
