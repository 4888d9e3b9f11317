// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD305 | GD215
// WHY: The number of smoothing passes follows the step, so the captured step has another topology each
//   time. The update is refused and the "fallback" instantiates: in every one of 400 steps. One
//   executable for each number would do.
#include "job.h"

namespace {
constexpr int kCount = 1 << 16;
constexpr int kSteps = 400;

__global__ void smooth(unsigned* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = scramble(data[i], 64);
}

class Stepper {
public:
    void run(unsigned* data, int passes, cudaStream_t stream) {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); // MARK
        for (int i = 0; i < passes; ++i)
            smooth<<<kCount / 256, 256, 0, stream>>>(data, kCount);
        CHECK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExecUpdateResultInfo info{};
        if (m_exec == nullptr || cudaGraphExecUpdate(m_exec, graph, &info) != cudaSuccess) { // MARK
            cudaGetLastError();
            if (m_exec != nullptr)
                CHECK(cudaGraphExecDestroy(m_exec));
            CHECK(cudaGraphInstantiate(&m_exec, graph, 0)); // MARK
            ++instantiated;
        }
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(m_exec, stream));
    }
    int instantiated = 0;

private:
    cudaGraphExec_t m_exec = nullptr;
};
} // namespace

int main() {
    unsigned* data = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(&data, kCount * sizeof(unsigned)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Stepper stepper;
    for (int step = 0; step < kSteps; ++step)
        stepper.run(data, 20 + step % 7, stream);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("steps %d instantiated %d\n", kSteps, stepper.instantiated);
}
