// SPDX-License-Identifier: Apache-2.0
#include "kernels/fetch_tokens.h"

#include "kernels/rng.h"

namespace gdt::kernels {

void FetchTokens::host(const Args& args) {
    const std::int64_t places = args.corpusLength - args.seqLen;
    for (std::int64_t b = 0; b < args.batch; ++b) {
        const std::int64_t microBatch = args.state->step * args.microBatches + args.microBatch;
        const std::int64_t sample = (microBatch * args.ranks + args.rank) * args.batch + b;
        const std::uint64_t random = randomBits(args.seed, kSampleStream, static_cast<std::uint64_t>(sample));
        const std::int32_t* from = args.corpus + random % static_cast<std::uint64_t>(places);
        for (std::int64_t t = 0; t < args.seqLen; ++t) {
            args.tokens[t * args.batch + b] = from[t];
            args.targets[t * args.batch + b] = from[t + 1];
        }
    }
}

} // namespace gdt::kernels
