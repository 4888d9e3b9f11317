// SPDX-License-Identifier: Apache-2.0
// Question: which way of switching CUPTI's graph and kernel activity crashes a later launch?
// A CUPTI client of its own with a graph of 20 kernels. Usage: graph_switches CASE [ROUNDS [REPLAY_US]]. Each
// round ends with everything off, the device idle. Prints `CASE: ROUNDS rounds` when it survives. In the
// cases G is GRAPH_TRACE, K the kernel kind (with MEMCPY and MEMSET):
//   idle          G on while nothing runs; launch; off
//   flight        launch with everything off; G on while it runs; launch
//   both_idle     as idle with G and K;            both_flight   as flight with G and K
//   exit          as both_flight, switched on in the exit of the launch (a driver callback)
//   off_flight    G on; launch; G off while it runs; launch
//   k_off         G and K on; launch; K off while nothing runs; launch (and k_off_flight: while it runs)
//   k_on          G on; launch; K on; launch        k_to_g       K on; launch; K off and G on at once; launch
//   MODIFIERS joined by "+": flush (another thread flushes without a pause), events (three threads record and
//   query events), nodes (the executable was first launched with K only), two (two streams and executables),
//   host (the graph begins and ends with a host node)
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <cupti.h>

__global__ void spin(float* data, int loops) {
    float value = data[threadIdx.x];
    for (int i = 0; i < loops; ++i) {
        value = value * 0.999F + 0.5F;
    }
    data[threadIdx.x] = value;
}

static std::atomic<bool> g_onAtExit{false};

static void graphs(bool on) {
    on ? cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
       : cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

static void kernels(bool on) {
    for (const auto kind :
        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
        on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind);
    }
}

static void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) {
        return;
    }
    const auto site = static_cast<const CUpti_CallbackData*>(data)->callbackSite;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags) {
        graphs(site == CUPTI_API_ENTER);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch && site == CUPTI_API_EXIT
        && g_onAtExit.exchange(false)) {
        graphs(true);
        kernels(true);
    }
}

static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *bytes = 1 << 18;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
    *records = 0;
}

static void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
    std::free(buffer);
}

struct Graph {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t exec = nullptr;
    float* data = nullptr;
};

static std::vector<Graph> g_graphs;

static void launch() {
    for (const Graph& graph : g_graphs) {
        cudaGraphLaunch(graph.exec, graph.stream);
    }
}

// False: no such case.
static bool round(const std::string& which) {
    const auto wait = [] { cudaDeviceSynchronize(); };
    if (which == "idle" || which == "both_idle") {
        graphs(true);
        kernels(which == "both_idle");
        launch();
    } else if (which == "flight" || which == "both_flight") {
        launch();
        graphs(true);
        if (which == "both_flight") {
            kernels(true);
        }
        launch();
    } else if (which == "exit") {
        g_onAtExit.store(true);
        launch();
        launch();
    } else if (which == "off_flight") {
        graphs(true);
        launch();
        graphs(false);
        launch();
    } else if (which == "k_off" || which == "k_off_flight") {
        graphs(true);
        kernels(true);
        launch();
        if (which == "k_off") {
            wait();
        }
        kernels(false);
        launch();
    } else if (which == "k_on") {
        graphs(true);
        launch();
        kernels(true);
        launch();
    } else if (which == "k_to_g") {
        kernels(true);
        launch();
        kernels(false);
        graphs(true);
        launch();
    } else {
        return false;
    }
    wait();
    graphs(false);
    kernels(false);
    launch();
    wait();
    return true;
}

int main(int argc, char** argv) {
    std::string which = argc > 1 ? argv[1] : "idle";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 50;
    const int replayUs = argc > 3 ? std::atoi(argv[3]) : 2000;
    const auto has
        = [&](const char* word) { return which.find(std::string("+") + word) != std::string::npos; };
    const bool flush = has("flush");
    const bool events = has("events");
    const bool nodes = has("nodes");
    const bool two = has("two");
    const bool host = has("host");
    const std::string plain = which.substr(0, which.find('+'));
    CUpti_SubscriberHandle subscriber = nullptr;
    cuptiSubscribe(&subscriber, onCallback, nullptr);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
    cuptiEnableCallback(
        1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
    cuptiActivityRegisterCallbacks(requested, completed);
    for (int i = 0; i < (two ? 2 : 1); ++i) {
        Graph one;
        cudaMalloc(&one.data, 4096);
        cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking);
        spin<<<1, 128, 0, one.stream>>>(one.data, 1);
        cudaGraph_t graph = nullptr;
        cudaStreamBeginCapture(one.stream, cudaStreamCaptureModeThreadLocal);
        if (host) {
            cudaLaunchHostFunc(
                one.stream, [](void*) {}, nullptr);
        }
        for (int k = 0; k < 20; ++k) {
            spin<<<8, 128, 0, one.stream>>>(one.data, replayUs * 20); // about 2.4 ns a loop
        }
        if (host) {
            cudaLaunchHostFunc(
                one.stream, [](void*) {}, nullptr);
        }
        cudaStreamEndCapture(one.stream, &graph);
        cudaGraphInstantiateWithFlags(&one.exec, graph, 0);
        g_graphs.push_back(one);
    }
    if (nodes) {
        kernels(true);
        launch();
        launch();
        cudaDeviceSynchronize();
        kernels(false);
        launch();
        cudaDeviceSynchronize();
    }
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    if (flush) {
        threads.emplace_back([&] {
            while (!done.load()) {
                cuptiActivityFlushAll(0);
            }
        });
    }
    for (int i = 0; events && i < 3; ++i) {
        threads.emplace_back([&] {
            cudaStream_t stream = nullptr;
            cudaEvent_t event = nullptr;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            cudaEventCreate(&event);
            while (!done.load()) {
                cudaEventRecord(event, stream);
                cudaEventQuery(event);
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        });
    }
    bool known = true;
    for (int i = 0; known && i < rounds; ++i) {
        known = round(plain);
    }
    done.store(true);
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (!known) {
        std::fprintf(stderr, "graph_switches: %s is no case\n", plain.c_str());
        std::fflush(stderr);
        _exit(2);
    }
    const cudaError_t result = cudaDeviceSynchronize();
    std::printf("%s: %d rounds, result %d\n", which.c_str(), rounds, static_cast<int>(result));
    std::fflush(stdout);
    _exit(0);
}
