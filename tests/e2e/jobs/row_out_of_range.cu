// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD210
// EXIT: 1
// WHY: A look-up service: its graph computes the next row on the device and gathers it. The seventh request
//   leads far outside the table. The launch succeeds; the wait for the answer, in another function, is the
//   first call to return the illegal access.
#include "job.h"

namespace {
constexpr int kRows = 4096, kWidth = 256;
constexpr int kRequests = 20, kBroken = 7;

struct State {
    unsigned requests;
    unsigned long long row;
};

__global__ void next_row(State* state) {
    const unsigned request = ++state->requests;
    state->row = scramble(request, 3) % kRows;
    if (request == kBroken)
        state->row += 1ull << 33; // a length in bytes that was taken for one in rows
}

__global__ void gather_row(float* out, const float* table, const State* state) {
    out[threadIdx.x] = table[state->row * kWidth + threadIdx.x];
}

__global__ void scale_row(float* out, float factor) {
    out[threadIdx.x] *= factor;
}

struct Service {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t exec = nullptr;
    float *table = nullptr, *out = nullptr;
    State* state = nullptr;
    float* answer = nullptr;
};

void capture(Service& service) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(service.stream, cudaStreamCaptureModeGlobal));
    next_row<<<1, 1, 0, service.stream>>>(service.state);
    gather_row<<<1, kWidth, 0, service.stream>>>(service.out, service.table, service.state); // MARK
    scale_row<<<1, kWidth, 0, service.stream>>>(service.out, 2.0f);
    CHECK(cudaStreamEndCapture(service.stream, &graph));
    CHECK(cudaGraphInstantiate(&service.exec, graph, 0));
}

__attribute__((noinline)) void request(Service& service) {
    CHECK(cudaGraphLaunch(service.exec, service.stream)); // MARK
}

__attribute__((noinline)) float answer(Service& service) {
    CHECK(cudaMemcpyAsync(
        service.answer, service.out, kWidth * sizeof(float), cudaMemcpyDeviceToHost, service.stream));
    CHECK(cudaStreamSynchronize(service.stream));
    return service.answer[0];
}
} // namespace

int main() {
    Service service;
    CHECK(cudaStreamCreateWithFlags(&service.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&service.table, sizeof(float) * kRows * kWidth));
    CHECK(cudaMalloc(&service.out, sizeof(float) * kWidth));
    CHECK(cudaMalloc(&service.state, sizeof(State)));
    CHECK(cudaMallocHost(&service.answer, sizeof(float) * kWidth));
    CHECK(cudaMemset(service.table, 0, sizeof(float) * kRows * kWidth));
    CHECK(cudaMemset(service.state, 0, sizeof(State)));
    CHECK(cudaDeviceSynchronize());
    capture(service);
    for (int i = 0; i < kRequests; ++i) {
        request(service);
        std::printf("request %d: %g\n", i + 1, static_cast<double>(answer(service)));
        std::fflush(stdout);
    }
}
