// SPDX-License-Identifier: Apache-2.0
// EXPECT: silent
// ALONE: a steady state of less than a second
// WHY: Inference server: three workers, each with its own stream, its own static buffers and one graph for
//   each batch bucket (thread_local captures at the same time, graphs uploaded first). Buckets are replayed
//   in the order of the requests, up to four requests are in flight, inputs come from pinned slots. Nothing
//   is wrong here.
#include "job.h"

#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 3;
constexpr int kRequests = 240;
constexpr int kInFlight = 4;
constexpr int kFeatures = 4096;
constexpr int kLayers = 6;
constexpr std::array<int, 4> kBuckets = {1, 2, 4, 8};

__global__ void layer(unsigned* out, const unsigned* in, const unsigned* weights, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scramble(in[i] ^ weights[i % kFeatures], 8000);
}

class Engine {
public:
    explicit Engine(int priority) {
        const std::size_t bytes = static_cast<std::size_t>(kBuckets.back()) * kFeatures * sizeof(unsigned);
        CHECK(cudaStreamCreateWithPriority(&m_stream, cudaStreamNonBlocking, priority));
        CHECK(cudaMalloc(&m_input, bytes));
        CHECK(cudaMalloc(&m_output, bytes));
        CHECK(cudaMalloc(&m_hidden, bytes));
        CHECK(cudaMalloc(&m_weights, kFeatures * sizeof(unsigned)));
        CHECK(cudaMemsetAsync(m_weights, 0x11, kFeatures * sizeof(unsigned), m_stream));
        CHECK(cudaMemsetAsync(m_input, 0, bytes, m_stream));
        for (Slot& slot : m_slots) {
            CHECK(cudaMallocHost(&slot.in, bytes));
            CHECK(cudaMallocHost(&slot.out, bytes));
            std::memset(slot.in, 0, bytes);
            CHECK(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming | cudaEventBlockingSync));
        }
        for (std::size_t b = 0; b < kBuckets.size(); ++b) {
            enqueue(kBuckets[b]); // warm-up
            cudaGraph_t graph = nullptr;
            CHECK(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal));
            enqueue(kBuckets[b]);
            CHECK(cudaStreamEndCapture(m_stream, &graph));
            CHECK(cudaGraphInstantiate(&m_execs[b], graph, cudaGraphInstantiateFlagUseNodePriority));
            CHECK(cudaGraphDestroy(graph));
            CHECK(cudaGraphUpload(m_execs[b], m_stream));
        }
        CHECK(cudaStreamSynchronize(m_stream));
    }

    ~Engine() {
        for (cudaGraphExec_t exec : m_execs)
            CHECK(cudaGraphExecDestroy(exec));
        for (Slot& slot : m_slots) {
            CHECK(cudaEventDestroy(slot.done));
            CHECK(cudaFreeHost(slot.in));
            CHECK(cudaFreeHost(slot.out));
        }
        for (void* memory : {m_input, m_output, m_hidden, m_weights})
            CHECK(cudaFree(memory));
        CHECK(cudaStreamDestroy(m_stream));
    }

    unsigned long long serve(unsigned seed) {
        unsigned long long sum = 0;
        for (int request = 0; request < kRequests + kInFlight; ++request) {
            Slot& slot = m_slots[request % kInFlight];
            if (slot.busy) { // the answer of four requests ago
                CHECK(cudaEventSynchronize(slot.done));
                sum += slot.out[0] + slot.out[slot.batch * kFeatures - 1];
                slot.busy = false;
            }
            if (request >= kRequests)
                continue;
            seed = seed * 1103515245u + 12345u;
            const std::size_t bucket = (seed >> 16) % kBuckets.size();
            slot.batch = kBuckets[bucket];
            const std::size_t bytes = std::size_t(slot.batch) * kFeatures * sizeof(unsigned);
            for (int i = 0; i < slot.batch; ++i)
                slot.in[i * kFeatures] = seed + i;
            CHECK(cudaMemcpyAsync(m_input, slot.in, bytes, cudaMemcpyHostToDevice, m_stream));
            CHECK(cudaGraphLaunch(m_execs[bucket], m_stream));
            CHECK(cudaMemcpyAsync(slot.out, m_output, bytes, cudaMemcpyDeviceToHost, m_stream));
            CHECK(cudaEventRecord(slot.done, m_stream));
            slot.busy = true;
        }
        return sum;
    }

private:
    struct Slot {
        unsigned* in = nullptr;
        unsigned* out = nullptr;
        cudaEvent_t done = nullptr;
        int batch = 0;
        bool busy = false;
    };

    void enqueue(int batch) {
        const int n = batch * kFeatures;
        auto* in = static_cast<unsigned*>(m_input);
        for (int i = 0; i < kLayers; ++i) {
            auto* out = static_cast<unsigned*>(i + 1 == kLayers ? m_output : i % 2 == 0 ? m_hidden : m_input);
            layer<<<(n + 127) / 128, 128, 0, m_stream>>>(out, in, static_cast<unsigned*>(m_weights), n);
            CHECK(cudaGetLastError());
            in = out;
        }
    }

    cudaStream_t m_stream = nullptr;
    void *m_input = nullptr, *m_output = nullptr, *m_hidden = nullptr, *m_weights = nullptr;
    std::array<cudaGraphExec_t, kBuckets.size()> m_execs{};
    std::array<Slot, kInFlight> m_slots{};
};

} // namespace

int main() {
    int least = 0;
    int greatest = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    std::array<unsigned long long, kWorkers> sums{};
    std::vector<std::thread> workers;
    for (int w = 0; w < kWorkers; ++w) {
        workers.emplace_back([&, w] {
            CHECK(cudaSetDevice(0));
            Engine engine(w == 0 ? greatest : least);
            sums[w] = engine.serve(w + 1);
        });
    }
    for (std::thread& worker : workers)
        worker.join();
    for (int w = 0; w < kWorkers; ++w)
        std::printf("worker %d: %d requests, sum %llu\n", w, kRequests, sums[w]);
    return 0;
}
