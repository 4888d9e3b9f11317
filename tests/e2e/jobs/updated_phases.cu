// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Every 60 of 480 steps the job enters a phase with another rate and another half of the data: it
//   captures the step again, puts it into the executable with cudaGraphExecUpdate (and would instantiate if
//   that were refused), and goes on. The loop waits for an event of eight steps ago only. Few captures, one
//   executable: as the guide advises.
#include "job.h"

namespace {

constexpr int kCount = 1 << 16;
constexpr int kPhases = 8;
constexpr int kStepsOfPhase = 60;
constexpr int kAhead = 8;

__global__ void forward(unsigned* hidden, const unsigned* batch, const unsigned* weights, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        hidden[i] = scramble(batch[i] ^ weights[i], 2500);
}

__global__ void apply(unsigned* weights, const unsigned* hidden, float rate, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        weights[i] += static_cast<unsigned>((hidden[i] & 0xff) * rate);
}

class Trainer {
public:
    Trainer() {
        CHECK(cudaMalloc(&m_data, 2 * kCount * sizeof(unsigned)));
        CHECK(cudaMalloc(&m_hidden, kCount * sizeof(unsigned)));
        CHECK(cudaMalloc(&m_weights, kCount * sizeof(unsigned)));
        CHECK(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking));
        CHECK(cudaMemsetAsync(m_data, 3, 2 * kCount * sizeof(unsigned), m_stream));
        CHECK(cudaMemsetAsync(m_weights, 5, kCount * sizeof(unsigned), m_stream));
        for (cudaEvent_t& event : m_done)
            CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    ~Trainer() {
        CHECK(cudaGraphExecDestroy(m_exec));
        for (cudaEvent_t event : m_done)
            CHECK(cudaEventDestroy(event));
        CHECK(cudaStreamDestroy(m_stream));
        for (unsigned* memory : {m_data, m_hidden, m_weights})
            CHECK(cudaFree(memory));
    }
    void enterPhase(int phase) {
        const float rate = 1.0f / (1 << phase);
        const unsigned* batch = m_data + (phase % 2) * kCount;
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 4; ++i) {
            forward<<<kCount / 256, 256, 0, m_stream>>>(m_hidden, batch, m_weights, kCount);
            apply<<<kCount / 256, 256, 0, m_stream>>>(m_weights, m_hidden, rate, kCount);
        }
        CHECK(cudaStreamEndCapture(m_stream, &graph));
        cudaGraphExecUpdateResultInfo info{};
        if (m_exec == nullptr || cudaGraphExecUpdate(m_exec, graph, &info) != cudaSuccess) {
            cudaGetLastError();
            if (m_exec != nullptr)
                CHECK(cudaGraphExecDestroy(m_exec));
            CHECK(cudaGraphInstantiate(&m_exec, graph, 0));
            ++m_instantiated;
        }
        CHECK(cudaGraphDestroy(graph));
    }
    void step() {
        cudaEvent_t done = m_done[m_steps++ % kAhead];
        CHECK(cudaEventSynchronize(done));
        CHECK(cudaGraphLaunch(m_exec, m_stream));
        CHECK(cudaEventRecord(done, m_stream));
    }
    void finish() {
        unsigned first = 0;
        CHECK(cudaStreamSynchronize(m_stream));
        CHECK(cudaMemcpy(&first, m_weights, sizeof first, cudaMemcpyDeviceToHost));
        std::printf("steps %d, instantiated %d, weight %08x\n", m_steps, m_instantiated, first);
    }

private:
    unsigned *m_data = nullptr, *m_hidden = nullptr, *m_weights = nullptr;
    cudaStream_t m_stream = nullptr;
    cudaEvent_t m_done[kAhead] = {};
    cudaGraphExec_t m_exec = nullptr;
    int m_steps = 0;
    int m_instantiated = 0;
};

} // namespace

int main() {
    Trainer trainer;
    for (int phase = 0; phase < kPhases; ++phase) {
        trainer.enterPhase(phase);
        for (int i = 0; i < kStepsOfPhase; ++i)
            trainer.step();
    }
    trainer.finish();
    return 0;
}
