// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Device-side graph launch: the host replays a small dispatcher graph 300 times; its kernel fires one
//   device graph (fire and forget) and launches one of two others behind itself (tail). All in one stream,
//   nothing overlaps itself.
#include "job.h"

namespace {

constexpr int kCells = 1 << 16;
constexpr int kReplays = 300;

struct Queue {
    int dispatched;
    int logged;
    int even;
    int odd;
};

__global__ void dispatch(Queue* queue, cudaGraphExec_t log, cudaGraphExec_t even, cudaGraphExec_t odd) {
    const int turn = queue->dispatched++;
    cudaGraphLaunch(log, cudaStreamGraphFireAndForget);
    cudaGraphLaunch(turn % 2 == 0 ? even : odd, cudaStreamGraphTailLaunch);
}

__global__ void record(Queue* queue) {
    ++queue->logged;
}

__global__ void work(Queue* queue, unsigned* field, int isOdd, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i] + isOdd, 4000);
    if (i == 0)
        ++(isOdd ? queue->odd : queue->even);
}

template <class Body> cudaGraphExec_t build(cudaStream_t stream, unsigned flags, Body body) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, flags));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphUpload(exec, stream));
    return exec;
}

} // namespace

int main() {
    Queue* queue = nullptr;
    unsigned* field = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&queue, sizeof *queue));
    CHECK(cudaMalloc(&field, kCells * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(queue, 0, sizeof *queue, stream));
    CHECK(cudaMemsetAsync(field, 1, kCells * sizeof(unsigned), stream));
    CHECK(cudaStreamSynchronize(stream));
    cudaGraphExec_t log
        = build(stream, cudaGraphInstantiateFlagDeviceLaunch, [&] { record<<<1, 1, 0, stream>>>(queue); });
    cudaGraphExec_t parts[2] = {};
    for (int odd = 0; odd < 2; ++odd) {
        parts[odd] = build(stream, cudaGraphInstantiateFlagDeviceLaunch, [&] {
            for (int k = 0; k < 2; ++k)
                work<<<kCells / 256, 256, 0, stream>>>(queue, field, odd, kCells);
        });
    }
    CHECK(cudaStreamSynchronize(stream));
    cudaGraphExec_t exec
        = build(stream, 0, [&] { dispatch<<<1, 1, 0, stream>>>(queue, log, parts[0], parts[1]); });
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    Queue end{};
    unsigned first = 0;
    CHECK(cudaMemcpy(&end, queue, sizeof end, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&first, field, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("dispatched %d logged %d even %d odd %d field %08x\n", end.dispatched, end.logged, end.even,
        end.odd, first);
    for (cudaGraphExec_t one : {exec, parts[0], parts[1], log})
        CHECK(cudaGraphExecDestroy(one));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(field));
    CHECK(cudaFree(queue));
    return end.dispatched == kReplays && end.logged == kReplays && end.even == kReplays && end.odd == kReplays
        ? 0
        : 1;
}
