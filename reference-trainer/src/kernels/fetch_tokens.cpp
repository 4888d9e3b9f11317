// SPDX-License-Identifier: Apache-2.0
#include "kernels/fetch_tokens.h"

#include "kernels/rng.h"
#include "kernels/sequence_shard.h"

namespace gdt::kernels {

void FetchTokens::host(const Args& args) {
    const std::int64_t places = args.corpusLength - args.seqLen;
    const std::int64_t positions = args.chunk == 0 ? args.seqLen : args.localLen;
    for (std::int64_t b = 0; b < args.batch; ++b) {
        const std::int64_t microBatch = args.state->step * args.microBatches + args.microBatch;
        const std::int64_t sample = (microBatch * args.ranks + args.rank) * args.batch + b;
        const std::uint64_t random = randomBits(args.seed, kSampleStream, static_cast<std::uint64_t>(sample));
        const std::int32_t* from = args.corpus + random % static_cast<std::uint64_t>(places);
        if (b == 0 && args.firstSample != nullptr) {
            *args.firstSample = sample;
        }
        for (std::int64_t t = 0; t < positions; ++t) {
            const std::int64_t at = globalPosition(t, args.chunk, args.first0, args.first1);
            args.tokens[t * args.batch + b] = from[at];
            args.targets[t * args.batch + b] = from[at + 1];
        }
    }
}

} // namespace gdt::kernels
