// SPDX-License-Identifier: Apache-2.0
// EXPECT: GD210
// EXIT: 1
// WHY: A decoder whose embedding kernel asserts that a token is one of the vocabulary, replayed ahead of the
//   thread that waits for the results. Request 40 brings a token that is not; the waiting thread sees the
//   assertion, some replays later.
#include "job.h"

#include <cassert>
#include <thread>

namespace {
constexpr int kVocabulary = 32000, kWidth = 128;
constexpr int kRequests = 60, kBroken = 40;

__global__ void embed_token(float* out, const float* weights, const int* token) {
    assert(*token < kVocabulary);
    out[threadIdx.x] = weights[*token * kWidth + threadIdx.x];
}

__global__ void layer(float* hidden) {
    hidden[threadIdx.x] = hidden[threadIdx.x] * 0.5f + 1.0f;
}

struct Decoder {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaEvent_t done[kRequests] = {};
    float *weights = nullptr, *hidden = nullptr;
    int *token = nullptr, *tokens = nullptr;
};

void capture(Decoder& decoder) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(decoder.stream, cudaStreamCaptureModeThreadLocal));
    embed_token<<<1, kWidth, 0, decoder.stream>>>(decoder.hidden, decoder.weights, decoder.token); // MARK
    for (int i = 0; i < 4; ++i)
        layer<<<1, kWidth, 0, decoder.stream>>>(decoder.hidden);
    CHECK(cudaStreamEndCapture(decoder.stream, &graph));
    CHECK(cudaGraphInstantiate(&decoder.exec, graph, 0));
}

void waitForAll(Decoder& decoder) {
    for (int i = 0; i < kRequests; ++i)
        CHECK(cudaEventSynchronize(decoder.done[i]));
    std::printf("decoded %d\n", kRequests);
}
} // namespace

int main() {
    Decoder decoder;
    CHECK(cudaStreamCreateWithFlags(&decoder.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&decoder.weights, sizeof(float) * kVocabulary * kWidth));
    CHECK(cudaMalloc(&decoder.hidden, sizeof(float) * kWidth));
    CHECK(cudaMalloc(&decoder.token, sizeof(int)));
    CHECK(cudaMallocHost(&decoder.tokens, sizeof(int) * kRequests));
    CHECK(cudaMemset(decoder.weights, 0, sizeof(float) * kVocabulary * kWidth));
    CHECK(cudaMemset(decoder.token, 0, sizeof(int)));
    for (int i = 0; i < kRequests; ++i) {
        decoder.tokens[i] = static_cast<int>(scrambleOnHost(unsigned(i), 2) % kVocabulary);
        CHECK(cudaEventCreateWithFlags(&decoder.done[i], cudaEventDisableTiming));
    }
    decoder.tokens[kBroken] = kVocabulary + 3; // a padding token that another tokenizer has
    CHECK(cudaDeviceSynchronize());
    capture(decoder);
    for (int i = 0; i < kRequests; ++i) {
        CHECK(cudaMemcpyAsync(
            decoder.token, decoder.tokens + i, sizeof(int), cudaMemcpyHostToDevice, decoder.stream));
        CHECK(cudaGraphLaunch(decoder.exec, decoder.stream)); // MARK
        CHECK(cudaEventRecord(decoder.done[i], decoder.stream));
        if (i < kBroken - 1)
            CHECK(cudaEventSynchronize(decoder.done[i]));
    }
    std::thread waiting([&] { waitForAll(decoder); });
    waiting.join();
}
