// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "optim/step_state.h"

namespace gdt::kernels {

// Cuts the samples of one micro-batch out of the corpus in device memory. Which ones follows from
// state->step, so a captured launch fetches new data on every replay. Sample b of micro-batch m on
// data-parallel rank r has the global number ((step * microBatches + m) * ranks + r) * batch + b; its place
// in the corpus is a random number keyed by that number, so the global batch is the same however it is spread
// over ranks.
inline constexpr std::uint64_t kSampleStream
    = 0x73616d706c65; ///< keeps sampling apart from every parameter's stream

struct FetchTokens {
    static constexpr const char* kName = "fetch_tokens";
    struct Args {
        const std::int32_t* corpus;
        const optim::StepState* state;
        std::int32_t* tokens; // [positions of this rank, batch]
        std::int32_t* targets; // the token after each
        std::int64_t corpusLength, seqLen, batch;
        std::int64_t microBatch, microBatches, rank, ranks;
        std::uint64_t seed;
        std::int64_t* firstSample
            = nullptr; // unless null: takes the number of the micro-batch's first sample
        std::int64_t localLen = 0; // positions of this rank, when chunk > 0
        std::int64_t chunk = 0, first0 = 0, first1 = 0; // kernels/sequence_shard.h
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
