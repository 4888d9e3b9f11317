// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: A streaming job: one graph put together from three captures (cudaStreamBeginCaptureToGraph), relaxed
//   because the second one allocates its buffer with cudaMalloc on the way (allowed in that mode); input read
//   by the kernel from mapped pinned slots; an external event record in the graph hands each result to
//   another stream; a host node counts.
#include "job.h"

#include <cstring>

namespace {

constexpr int kCount = 1 << 16;
constexpr int kSteps = 320;
constexpr int kSlots = 4;

__global__ void ingest(unsigned* work, const unsigned* slots, unsigned* turn, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        work[i] = scramble(slots[(*turn % kSlots) * n + i], 2500);
}

__global__ void transform(unsigned* out, const unsigned* work, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += scramble(work[i], 2500);
}

__global__ void advance(unsigned* turn) {
    ++*turn;
}

void CUDART_CB onStep(void* count) {
    ++*static_cast<int*>(count);
}

// The node that the last capture of the stream ended with: what the next piece has to wait for.
struct Tail {
    cudaGraphNode_t node = nullptr;
};

template <class Body> void piece(cudaStream_t stream, cudaGraph_t graph, Tail& tail, Body body) {
    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, tail.node == nullptr ? nullptr : &tail.node, nullptr,
        tail.node == nullptr ? 0 : 1, cudaStreamCaptureModeRelaxed));
    body();
    CHECK(cudaGetLastError());
    cudaStreamCaptureStatus status{};
    const cudaGraphNode_t* last = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    std::size_t lasts = 0;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &edges, &lasts));
    if (lasts != 1) {
        std::fprintf(stderr, "%zu ends\n", lasts);
        std::exit(1);
    }
    tail.node = *last;
    CHECK(cudaStreamEndCapture(stream, nullptr));
}

} // namespace

int main() {
    CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
    unsigned *slots = nullptr, *slotsOnDevice = nullptr, *work = nullptr, *out = nullptr, *turn = nullptr;
    unsigned* results = nullptr;
    int counted = 0;
    cudaStream_t stream = nullptr, reader = nullptr;
    cudaEvent_t ready = nullptr, taken[kSlots] = {};
    CHECK(cudaHostAlloc(&slots, kSlots * kCount * sizeof(unsigned), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&slotsOnDevice, slots, 0));
    CHECK(cudaMallocHost(&results, kSlots * sizeof(unsigned)));
    CHECK(cudaMalloc(&out, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&turn, sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    for (cudaEvent_t& event : taken)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    std::memset(slots, 0, kSlots * kCount * sizeof(unsigned));
    CHECK(cudaMemsetAsync(out, 0, kCount * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(turn, 0, sizeof(unsigned), stream));
    CHECK(cudaStreamSynchronize(stream));

    const dim3 grid(kCount / 256);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    Tail tail;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaMalloc(&work, kCount * sizeof(unsigned)));
    piece(stream, graph, tail, [&] { ingest<<<grid, 256, 0, stream>>>(work, slotsOnDevice, turn, kCount); });
    unsigned* half = nullptr;
    piece(stream, graph, tail, [&] {
        CHECK(cudaMalloc(&half, kCount * sizeof(unsigned)));
        CHECK(cudaMemcpyAsync(half, work, kCount * sizeof(unsigned), cudaMemcpyDeviceToDevice, stream));
        transform<<<grid, 256, 0, stream>>>(out, half, kCount);
    });
    piece(stream, graph, tail, [&] {
        CHECK(cudaEventRecordWithFlags(ready, stream, cudaEventRecordExternal));
        advance<<<1, 1, 0, stream>>>(turn);
        CHECK(cudaLaunchHostFunc(stream, onStep, &counted));
    });
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));

    unsigned long long sum = 0;
    for (int step = 0; step < kSteps + kSlots; ++step) {
        const int slot = step % kSlots;
        if (step >= kSlots) {
            CHECK(cudaEventSynchronize(taken[slot])); // of four steps ago
            sum = sum * 31 + results[slot];
        }
        if (step >= kSteps)
            continue;
        slots[slot * kCount] = static_cast<unsigned>(step);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamWaitEvent(reader, ready, 0));
        CHECK(cudaMemcpyAsync(results + slot, out, sizeof(unsigned), cudaMemcpyDeviceToHost, reader));
        CHECK(cudaEventRecord(taken[slot], reader));
        CHECK(cudaStreamWaitEvent(stream, taken[slot], 0));
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("steps %d, sum %llx\n", counted, sum);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (cudaEvent_t event : taken)
        CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(reader));
    CHECK(cudaStreamDestroy(stream));
    for (unsigned* memory : {half, work, out, turn})
        CHECK(cudaFree(memory));
    CHECK(cudaFreeHost(results));
    CHECK(cudaFreeHost(slots));
    return counted == kSteps ? 0 : 1;
}
