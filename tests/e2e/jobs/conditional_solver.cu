// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: A solver whose control flow runs on the device: a SWITCH node chooses the preconditioner, a WHILE node
//   iterates until its counter says stop, an IF node with an else branch corrects or accepts. Bodies are
//   filled by cudaStreamBeginCaptureToGraph. 300 replays, no host decision between them.
#include "job.h"

namespace {

constexpr int kCells = 1 << 16;
constexpr int kReplays = 300;

struct State {
    int step;
    int left;
    int accepted;
    int corrected;
    int iterations;
};

__global__ void choose(State* state, cudaGraphConditionalHandle which, cudaGraphConditionalHandle loop) {
    state->left = 2 + state->step % 4;
    cudaGraphSetConditional(which, state->step % 3);
    cudaGraphSetConditional(loop, 1);
}

__global__ void precondition(unsigned* field, unsigned factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i] * factor, 1500);
}

__global__ void iterate(unsigned* field, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] = scramble(field[i], 2000);
}

__global__ void proceed(State* state, cudaGraphConditionalHandle loop) {
    ++state->iterations;
    cudaGraphSetConditional(loop, --state->left > 0 ? 1 : 0);
}

__global__ void judge(State* state, cudaGraphConditionalHandle good) {
    cudaGraphSetConditional(good, state->step % 5 != 0 ? 1 : 0);
    ++state->step;
}

__global__ void accept(State* state) {
    ++state->accepted;
}

__global__ void correct(State* state, unsigned* field, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        field[i] ^= 0x5bd1e995u;
    if (i == 0)
        ++state->corrected;
}

cudaGraphNode_t addConditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
    cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t* bodies) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddNode(&node, graph, &after, nullptr, 1, &params));
    for (unsigned i = 0; i < size; ++i)
        bodies[i] = params.conditional.phGraph_out[i];
    return node;
}

template <class Body> void fill(cudaStream_t stream, cudaGraph_t graph, Body body) {
    CHECK(
        cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    body();
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, nullptr));
}

cudaGraphNode_t addKernel(cudaGraph_t graph, const cudaGraphNode_t* after, void* function, void** args) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = function;
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = args;
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddNode(&node, graph, after, nullptr, after == nullptr ? 0 : 1, &params));
    return node;
}

} // namespace

int main() {
    unsigned* field = nullptr;
    State* state = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&field, kCells * sizeof(unsigned)));
    CHECK(cudaMalloc(&state, sizeof *state));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(field, 7, kCells * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(state, 0, sizeof *state, stream));
    CHECK(cudaStreamSynchronize(stream));

    cudaGraph_t graph = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle which{}, loop{}, good{};
    CHECK(cudaGraphConditionalHandleCreate(&which, graph, 0, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&good, graph, 0, cudaGraphCondAssignDefault));
    void* chooseArgs[] = {&state, &which, &loop};
    void* judgeArgs[] = {&state, &good};
    cudaGraph_t switched[3] = {}, looped[1] = {}, judged[2] = {};
    cudaGraphNode_t node = addKernel(graph, nullptr, reinterpret_cast<void*>(&choose), chooseArgs);
    node = addConditional(graph, node, which, cudaGraphCondTypeSwitch, 3, switched);
    node = addConditional(graph, node, loop, cudaGraphCondTypeWhile, 1, looped);
    node = addKernel(graph, &node, reinterpret_cast<void*>(&judge), judgeArgs);
    addConditional(graph, node, good, cudaGraphCondTypeIf, 2, judged);
    const dim3 grid(kCells / 256);
    for (unsigned i = 0; i < 3; ++i)
        fill(stream, switched[i], [&] { precondition<<<grid, 256, 0, stream>>>(field, 2 * i + 3, kCells); });
    fill(stream, looped[0], [&] {
        iterate<<<grid, 256, 0, stream>>>(field, kCells);
        proceed<<<1, 1, 0, stream>>>(state, loop);
    });
    fill(stream, judged[0], [&] { accept<<<1, 1, 0, stream>>>(state); });
    fill(stream, judged[1], [&] { correct<<<grid, 256, 0, stream>>>(state, field, kCells); });

    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    for (int i = 0; i < kReplays; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    State end{};
    unsigned first = 0;
    CHECK(cudaMemcpy(&end, state, sizeof end, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&first, field, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("steps %d iterations %d accepted %d corrected %d field %08x\n", end.step, end.iterations,
        end.accepted, end.corrected, first);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(state));
    CHECK(cudaFree(field));
    return end.step == kReplays && end.accepted + end.corrected == kReplays ? 0 : 1;
}
