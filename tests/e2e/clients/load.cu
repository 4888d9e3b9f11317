// SPDX-License-Identifier: Apache-2.0
// A job of a known size, for figures. Usage:
//   load rate REPLAYS_PER_SECOND SECONDS    a graph of 200 tiny kernels at that rate; prints `launched N`,
//   and on standard
//                                           error the most private memory seen and the device memory taken
//                                           meanwhile
//   load short                              one kernel and the end; prints on standard error when the work
//   was done load ends KILL|ABORT|EXIT SECONDS FILE  a graph of 20 kernels each millisecond, the number of
//   launches kept in FILE,
//                                           then the end that the word says
#include "watchdog.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

__global__ void addOne(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F;
}

static std::int64_t nowNs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
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

static std::size_t usedBytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    return total - free;
}

static cudaGraphExec_t captured(cudaStream_t stream, float* data, int kernels) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < kernels; ++i) {
        addOne<<<8, 128, 0, stream>>>(data);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    return exec;
}

static void waitUntil(std::int64_t dueNs) {
    const std::int64_t left = dueNs - nowNs();
    if (left > 100'000) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(left - 60'000));
    }
    while (nowNs() < dueNs) { }
}

static int rate(cudaStream_t stream, float* data, double perSecond, double seconds) {
    cudaGraphExec_t exec = captured(stream, data, 200);
    for (int i = 0; i < 50; ++i) {
        cudaGraphLaunch(exec, stream);
    }
    cudaStreamSynchronize(stream);
    const std::int64_t total = static_cast<std::int64_t>(perSecond * seconds);
    const std::int64_t startNs = nowNs();
    std::size_t before = 0;
    long most = 0;
    for (std::int64_t i = 0; i < total; ++i) {
        waitUntil(startNs + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / perSecond));
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        if (i % 500 == 0) {
            const long now = privateKiB();
            most = now > most ? now : most;
            if (i <= total / 10) {
                before = usedBytes();
            }
        }
    }
    const double took = static_cast<double>(nowNs() - startNs) / 1e9;
    std::fprintf(stderr, "rate launches_per_s %.0f rss_anon_kib %ld device_growth_kib %ld\n",
        static_cast<double>(total) / took, most,
        (static_cast<long>(usedBytes()) - static_cast<long>(before)) / 1024);
    std::printf("launched %lld\n", static_cast<long long>(total + 50));
    return 0;
}

static int ends(cudaStream_t stream, float* data, const std::string& how, double seconds, const char* path) {
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) {
        return 2;
    }
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    auto* launches = static_cast<std::atomic<std::uint64_t>*>(page);
    cudaGraphExec_t exec = captured(stream, data, 20);
    const auto total = static_cast<std::int64_t>(seconds * 1000);
    const std::int64_t startNs = nowNs();
    for (std::int64_t i = 0; i < total; ++i) {
        waitUntil(startNs + i * 1'000'000);
        cudaGraphLaunch(exec, stream);
        launches->fetch_add(1);
    }
    if (how == "KILL") {
        kill(getpid(), SIGKILL);
    } else if (how == "ABORT") {
        std::abort();
    }
    _exit(7);
}

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    const std::int64_t enteredNs = nowNs();
    float* data = nullptr;
    cudaStream_t stream = nullptr;
    if (cudaMalloc(&data, 1024 * sizeof(float)) != cudaSuccess) {
        return 1;
    }
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    addOne<<<8, 128, 0, stream>>>(data);
    cudaStreamSynchronize(stream);
    if (which == "rate" && argc == 4) {
        return rate(stream, data, std::atof(argv[2]), std::atof(argv[3]));
    }
    if (which == "ends" && argc == 5) {
        return ends(stream, data, argv[2], std::atof(argv[3]), argv[4]);
    }
    if (which == "short") {
        std::fprintf(stderr, "entered_ns %lld done_ns %lld\n", static_cast<long long>(enteredNs),
            static_cast<long long>(nowNs()));
        std::printf("done\n");
        return 0;
    }
    std::fprintf(
        stderr, "usage: load rate REPLAYS_PER_SECOND SECONDS | short | ends KILL|ABORT|EXIT SECONDS FILE\n");
    return 2;
}
