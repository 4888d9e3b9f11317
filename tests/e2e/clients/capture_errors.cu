// SPDX-License-Identifier: Apache-2.0
// One program for every way a capture breaks: `capture_errors CASE` runs it, checks that CUDA answers as it
// is known to, and exits 0 when it did. `capture_errors list` prints the cases, `all` runs them one after the
// other.
#include "watchdog.h"

#include <cstdio>
#include <cstring>
#include <thread>

#include <cuda_runtime.h>

__global__ void addOne(float* data, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        data[i] += 1.0F;
    }
}

struct Setup {
    float* data = nullptr;
    float host[256] = {};
    cudaStream_t stream = nullptr;
    cudaStream_t side = nullptr;
    cudaEvent_t event = nullptr;

    Setup(unsigned streamFlags = cudaStreamNonBlocking) {
        cudaMalloc(&data, sizeof host);
        cudaMemset(data, 0, sizeof host);
        cudaStreamCreateWithFlags(&stream, streamFlags);
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        launch(stream);
        cudaDeviceSynchronize();
    }
    void launch(cudaStream_t on) { addOne<<<1, 256, 0, on>>>(data, 256); }
    void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
        cudaStreamBeginCapture(stream, mode);
        launch(stream);
    }
    cudaError_t end(cudaStream_t on) {
        cudaGraph_t graph = nullptr;
        return cudaStreamEndCapture(on, &graph);
    }
    cudaError_t end() { return end(stream); }
};

static bool expect(const char* what, cudaError_t got, int wanted) {
    std::printf("%s: %d (expected %d)\n", what, static_cast<int>(got), wanted);
    return static_cast<int>(got) == wanted;
}

static bool malloc900() {
    Setup s;
    s.begin();
    void* more = nullptr;
    const bool right = expect("cudaMalloc", cudaMalloc(&more, 1 << 20), 900);
    return expect("end", s.end(), 901) && right;
}

static bool synchronize900() {
    Setup s;
    s.begin();
    const bool right = expect("cudaStreamSynchronize", cudaStreamSynchronize(s.stream), 900);
    return expect("end", s.end(), 901) && right;
}

static bool cascade901() {
    Setup s;
    s.begin();
    bool right = expect("cudaStreamSynchronize", cudaStreamSynchronize(s.stream), 900);
    right = expect(
                "cudaMemcpyAsync", cudaMemcpyAsync(s.host, s.data, 16, cudaMemcpyDeviceToHost, s.stream), 901)
        && right;
    right = expect("cudaEventRecord", cudaEventRecord(s.event, s.stream), 901) && right;
    return expect("end", s.end(), 901) && right;
}

static bool merge902() {
    Setup s;
    s.begin(cudaStreamCaptureModeRelaxed);
    cudaStreamBeginCapture(s.side, cudaStreamCaptureModeRelaxed);
    cudaEventRecord(s.event, s.side);
    const bool right = expect("cudaStreamWaitEvent", cudaStreamWaitEvent(s.stream, s.event, 0), 902);
    s.end(s.side);
    s.end();
    return right;
}

static bool unmatched903() {
    Setup s;
    s.begin();
    cudaEventRecord(s.event, s.stream);
    cudaStreamWaitEvent(s.side, s.event, 0);
    const bool right = expect("end on the side stream", s.end(s.side), 903);
    s.end();
    return right;
}

static bool unjoined904() {
    Setup s;
    s.begin();
    cudaEventRecord(s.event, s.stream);
    cudaStreamWaitEvent(s.side, s.event, 0);
    s.launch(s.side);
    s.launch(s.stream);
    return expect("end", s.end(), 904);
}

static bool isolation905() {
    Setup s;
    s.launch(s.side);
    cudaEventRecord(s.event, s.side);
    s.begin();
    const bool right = expect("cudaStreamWaitEvent", cudaStreamWaitEvent(s.stream, s.event, 0), 905);
    return expect("end", s.end(), 901) && right;
}

static bool implicit906() {
    Setup s(cudaStreamDefault); // blocking: the legacy stream waits for it
    s.begin();
    s.launch(nullptr);
    const bool right = expect("launch on the legacy stream", cudaGetLastError(), 906);
    return expect("end", s.end(), 901) && right;
}

static bool memcpy906() {
    Setup s(cudaStreamDefault);
    s.begin(cudaStreamCaptureModeRelaxed);
    const bool right = expect("cudaMemcpy", cudaMemcpy(s.host, s.data, 16, cudaMemcpyDeviceToHost), 906);
    return expect("end", s.end(), 901) && right;
}

static bool capturedEvent907() {
    Setup s;
    s.begin(cudaStreamCaptureModeRelaxed);
    cudaEventRecord(s.event, s.stream);
    const bool right = expect("cudaEventQuery", cudaEventQuery(s.event), 907);
    s.end();
    return right;
}

static bool wrongThread908() {
    Setup s;
    s.begin();
    cudaError_t result = cudaSuccess;
    std::thread([&] { result = s.end(); }).join();
    s.end();
    return expect("end on another thread", result, 908);
}

static bool foreignThread900() {
    Setup s;
    s.begin();
    cudaError_t result = cudaSuccess;
    std::thread([&] {
        void* pinned = nullptr;
        result = cudaHostAlloc(&pinned, 1 << 20, cudaHostAllocDefault);
    }).join();
    const bool right = expect("cudaHostAlloc on another thread", result, 900);
    return expect("end", s.end(), 901) && right;
}

__attribute__((noinline)) static void leftOpen(Setup& s) {
    s.begin(); // never ended: an exception left the function, say
    asm volatile("" ::: "memory"); // no tail call
}

static bool abandoned() {
    Setup s;
    leftOpen(s);
    const bool right = expect("cudaStreamSynchronize of another stream", cudaStreamSynchronize(s.side), 900);
    cudaDeviceSynchronize();
    return right;
}

static bool threadLocalIsFine() {
    Setup s;
    s.begin(cudaStreamCaptureModeThreadLocal);
    cudaError_t result = cudaSuccess;
    std::thread([&] {
        void* pinned = nullptr;
        result = cudaHostAlloc(&pinned, 1 << 20, cudaHostAllocDefault);
    }).join();
    const bool right = expect("cudaHostAlloc on another thread", result, 0);
    return expect("end", s.end(), 0) && right;
}

static bool joinedIsFine() {
    Setup s;
    s.begin();
    cudaEventRecord(s.event, s.stream);
    cudaStreamWaitEvent(s.side, s.event, 0);
    s.launch(s.side);
    cudaEventRecord(s.event, s.side);
    cudaStreamWaitEvent(s.stream, s.event, 0);
    return expect("end", s.end(), 0);
}

struct Case {
    const char* name;
    bool (*run)();
};

static const Case kCases[] = {
    {"malloc900", malloc900},
    {"synchronize900", synchronize900},
    {"cascade901", cascade901},
    {"merge902", merge902},
    {"unmatched903", unmatched903},
    {"unjoined904", unjoined904},
    {"isolation905", isolation905},
    {"implicit906", implicit906},
    {"memcpy906", memcpy906},
    {"capturedEvent907", capturedEvent907},
    {"wrongThread908", wrongThread908},
    {"foreignThread900", foreignThread900},
    {"abandoned", abandoned},
    {"threadLocalIsFine", threadLocalIsFine},
    {"joinedIsFine", joinedIsFine},
};

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "list";
    if (std::strcmp(name, "all") == 0) {
        bool right = true;
        for (const Case& one : kCases) {
            right = (one.run == abandoned || one.run()) && right;
        }
        return abandoned() && right ? 0 : 1; // it leaves its capture open
    }
    for (const Case& one : kCases) {
        if (std::strcmp(name, "list") == 0) {
            std::printf("%s\n", one.name);
        } else if (std::strcmp(name, one.name) == 0) {
            return one.run() ? 0 : 1;
        }
    }
    return std::strcmp(name, "list") == 0 ? 0 : 2;
}
