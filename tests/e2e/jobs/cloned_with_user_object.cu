// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: A library hands out a captured graph whose workspace is owned by a user object; the caller clones
//   it, turns the clone into its variant (cudaGraphNodeFindInClone, cudaGraphKernelNodeSetParams), prints
//   it for debugging, drops the templates and uploads and replays both. The workspace is freed with the
//   last executable.
#include "job.h"

namespace {
constexpr int kCount = 1 << 20;

__global__ void apply(unsigned* out, unsigned* workspace, unsigned shift, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        workspace[i] = scramble(out[i] + shift, 1500);
        out[i] ^= workspace[i];
    }
}

void CUDART_CB releaseWorkspace(void* flag) {
    *static_cast<volatile bool*>(flag) = true;
}

cudaGraph_t libraryGraph(unsigned* out, unsigned* workspace, cudaStream_t stream, bool* released) {
    cudaGraph_t graph = nullptr;
    cudaUserObject_t object = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    apply<<<kCount / 256, 256, 0, stream>>>(out, workspace, 1, kCount);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaUserObjectCreate(&object, released, releaseWorkspace, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    return graph;
}
} // namespace

int main() {
    unsigned *out = nullptr, *workspace = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&out, kCount * sizeof(unsigned)));
    CHECK(cudaMalloc(&workspace, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(out, 0, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    static bool released = false;
    cudaGraph_t graph = libraryGraph(out, workspace, stream, &released), clone = nullptr;
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t node = nullptr, cloned = nullptr;
    size_t count = 1;
    CHECK(cudaGraphGetNodes(graph, &node, &count));
    CHECK(cudaGraphNodeFindInClone(&cloned, node, clone));
    cudaKernelNodeParams params{};
    CHECK(cudaGraphKernelNodeGetParams(cloned, &params));
    unsigned shift = 2;
    int n = kCount;
    void* args[] = {&out, &workspace, &shift, &n};
    params.kernelParams = args;
    CHECK(cudaGraphKernelNodeSetParams(cloned, &params));
    CHECK(cudaGraphDebugDotPrint(clone, "/dev/null", cudaGraphDebugDotFlagsVerbose));
    cudaGraphExec_t first = nullptr, second = nullptr;
    CHECK(cudaGraphInstantiate(&first, graph, 0));
    CHECK(cudaGraphInstantiate(&second, clone, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphUpload(first, stream));
    CHECK(cudaGraphUpload(second, stream));
    for (int step = 0; step < 300; ++step) {
        CHECK(cudaGraphLaunch(first, stream));
        CHECK(cudaGraphLaunch(second, stream));
        if (step % 50 == 49)
            CHECK(cudaStreamSynchronize(stream));
    }
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, out, sizeof(value), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
    std::printf("value %u\n", value);
}
