// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD202
// EXIT: 1
// WHY: A table is freed when its new version has been uploaded, but the graph still reads the old one. The
//   memory is given back to the driver, so the next replay faults; the cause is the free.
#include "job.h"

namespace {
constexpr size_t kCount = size_t{64} << 20; // floats: the driver gives back what it got for so much
constexpr int kBefore = 100;

__global__ void look_up(float* out, const float* table) {
    out[threadIdx.x] = table[threadIdx.x * 100003ull];
}

float* uploadTable() {
    float* table = nullptr;
    CHECK(cudaMalloc(&table, kCount * sizeof(float)));
    CHECK(cudaMemset(table, 0, kCount * sizeof(float)));
    return table;
}

__attribute__((noinline)) void dropTable(float* table) {
    CHECK(cudaFree(table)); // MARK
}
} // namespace

int main() {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    float* out = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&out, 256 * sizeof(float)));
    float* table = uploadTable();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    look_up<<<1, 256, 0, stream>>>(out, table);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < kBefore; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("looked up %d times\n", kBefore);
    std::fflush(stdout);
    dropTable(table);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("looked up once more\n");
}
