// SPDX-License-Identifier: Apache-2.0
// What must not crash or cost much under graph-level tracing. Usage: graph_trace CASE
//   liveAllocations   relaunches an executable whose allocation nodes are still live: the launch fails with
//   1, the
//                     process lives on (with GRAPH_TRACE on it would end in SIGSEGV)
//   autoFree          the same with AUTO_FREE_ON_LAUNCH: all launches succeed
//   toggle            1,000 launches of executables that come and go while a thread changes the recording
//   level every
//                     few milliseconds through the job's own control page
//   overhead LEVEL    median replay time of 200 short kernels with recording at LEVEL divided by that with
//   recording off,
//                     alternating ten times in this one process; prints `overhead LEVEL ratio min max off_us`
// Without a control page (a bare run) `toggle` and `overhead` run the same calls. Standard output is the same
// bare and recorded; figures go to standard error.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

__global__ void spin(float* data, int rounds) {
    float value = data[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < rounds; ++i) {
        value = value * 0.999F + 0.5F;
    }
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The first words of collector/raw/control_page.h: magic, version, level, window, flush request, generation.
class ControlPage {
public:
    ControlPage() {
        const char* spool = std::getenv("GRAPHDOCTOR_SPOOL");
        if (spool == nullptr) {
            return;
        }
        const int file = open((std::string(spool) + "/control").c_str(), O_RDWR);
        if (file >= 0) {
            void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            m_words = page == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint32_t>*>(page);
            close(file);
        }
    }
    void setLevel(std::uint32_t level) {
        if (m_words != nullptr) {
            m_words[2].store(level);
            m_words[5].fetch_add(1);
        }
    }

private:
    std::atomic<std::uint32_t>* m_words = nullptr;
};

static cudaGraphExec_t captured(cudaStream_t stream, float* data, int kernels, int rounds) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < kernels; ++i) {
        spin<<<8, 128, 0, stream>>>(data, rounds);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    return exec;
}

static int allocations(cudaStream_t stream, unsigned flags) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    void* memory = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaMallocAsync(&memory, 1 << 20, stream);
    cudaMemsetAsync(memory, 0, 1 << 20, stream);
    cudaStreamEndCapture(stream, &graph);
    std::printf("instantiate %d\n", cudaGraphInstantiateWithFlags(&exec, graph, flags));
    for (int i = 0; i < 3; ++i) {
        const int result = cudaGraphLaunch(exec, stream);
        std::printf("launch %d synchronize %d\n", result, cudaStreamSynchronize(stream));
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaGetLastError();
    return 0;
}

static int toggle(cudaStream_t stream, float* data) {
    ControlPage page;
    std::atomic<bool> done{false};
    std::thread changer([&] {
        std::uint32_t state = 1;
        while (!done.load()) {
            state = state * 1664525u + 1013904223u;
            page.setLevel((state >> 24) % 5);
            std::this_thread::sleep_for(std::chrono::milliseconds(2 + (state >> 16) % 60));
        }
        page.setLevel(3);
    });
    int failures = 0;
    std::vector<cudaGraphExec_t> alive;
    for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 0) {
            alive.push_back(captured(stream, data, 20 + i % 7, 100));
        }
        if (alive.size() > 5) {
            failures += cudaStreamSynchronize(stream) != cudaSuccess;
            failures += cudaGraphExecDestroy(alive.front()) != cudaSuccess;
            alive.erase(alive.begin());
        }
        failures += cudaGraphLaunch(alive[static_cast<std::size_t>(i) % alive.size()], stream) != cudaSuccess;
        if (i % 3 == 0) {
            failures += cudaStreamSynchronize(stream) != cudaSuccess;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
    failures += cudaDeviceSynchronize() != cudaSuccess;
    done.store(true);
    changer.join();
    std::printf("failures %d\n", failures);
    return failures == 0 ? 0 : 1;
}

static double medianUs(cudaStream_t stream, cudaGraphExec_t exec, int launches) {
    std::vector<double> times;
    for (int i = 0; i < launches; ++i) {
        const auto start = std::chrono::steady_clock::now();
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        times.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + launches / 2, times.end());
    return times[static_cast<std::size_t>(launches) / 2];
}

static int overhead(cudaStream_t stream, float* data, const char* name) {
    const char* names[] = {"off", "history", "light", "standard", "full"};
    std::uint32_t level = 3;
    for (std::uint32_t i = 0; i < 5; ++i) {
        level = std::strcmp(names[i], name) == 0 ? i : level;
    }
    ControlPage page;
    cudaGraphExec_t exec = captured(stream, data, 200, 150);
    medianUs(stream, exec, 300);
    std::vector<double> ratios;
    double offUs = 0;
    for (int round = 0; round < 10; ++round) {
        page.setLevel(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        medianUs(stream, exec, 50);
        offUs = medianUs(stream, exec, 500);
        page.setLevel(level);
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        medianUs(stream, exec, 50);
        ratios.push_back(medianUs(stream, exec, 500) / offUs);
    }
    std::sort(ratios.begin(), ratios.end());
    std::fprintf(stderr, "overhead %s %.4f %.4f %.4f off_us %.1f\n", name, ratios[ratios.size() / 2],
        ratios.front(), ratios.back(), offUs);
    cudaGraphExecDestroy(exec);
    std::printf("done\n");
    return 0;
}

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    cudaMalloc(&data, 1024 * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    spin<<<8, 128, 0, stream>>>(data, 1);
    cudaStreamSynchronize(stream);
    if (which == "liveAllocations") {
        return allocations(stream, 0);
    }
    if (which == "autoFree") {
        return allocations(stream, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    }
    if (which == "toggle") {
        return toggle(stream, data);
    }
    if (which == "overhead") {
        return overhead(stream, data, argc > 2 ? argv[2] : "standard");
    }
    std::fprintf(stderr, "usage: graph_trace liveAllocations|autoFree|toggle|overhead LEVEL\n");
    return 2;
}
