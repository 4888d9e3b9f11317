// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.h"

namespace gdt::faults {

namespace {

struct Factory {
    std::string_view id;
    FaultFactory make;
};

constexpr Factory kFactories[] = {
    {"item-in-capture", makeItemInCapture},
    {"no-fallback", makeNoFallback},
    {"no-warmup-optimizer", makeNoWarmupOptimizer},
    {"no-warmup-buffers", makeNoWarmupBuffers},
    {"nonflash-attention", makeUnfusedAttention},
    {"zero3-offload", makeOffloadedParameter},
    {"h2d-pending", makePageableCopyInCapture},
    {"capture-default-stream", makeDefaultStreamInCapture},
    {"capture-on-all-ranks", makeForeignEnd},
    {"gc-destroy-in-capture", makeDestroyInCapture},
    {"sync-in-graph-region", makeSyncInGraphRegion},
    {"record-stream", makeRecordStream},
    {"recompute-free", makeRecomputeFree},
    {"activation-realloc", makeActivationRealloc},
    {"graph-leak", makeGraphLeak},
    {"graph-cache-overflow", makeGraphCacheOverflow},
    {"tp-allreduce-unjoined", makeUnjoinedAllReduce},
    {"replay-jitter", makeReplayJitter},
    {"slow-dataloader", makeSlowLoader},
    {"pp-single-microbatch-capture", makeBlockingReceive},
    {"unjoined-fork", makeUnjoinedFork},
    {"abandoned-capture", makeAbandonedCapture},
    {"pp-event-outside-capture", makeEventOutsideCapture},
    {"rank-divergent-capture", makeDivergentCapture},
    {"nccl-abort", makeCommunicatorAbort},
    {"ring-whole-dynamic", makeTurningRing},
    {"lr-frozen", makeHostLearningRate},
    {"host-beta-step", makeHostBetaPowers},
    {"clip-frozen", makeHostClipNorm},
    {"eps-by-phase", makeHostEpsilon},
    {"dropout-frozen", makeHostDropoutSeed},
    {"fp8-scale-host", makeHostFp8Scales},
    {"replay-before-zero-grad", makeReplayBeforeZero},
    {"capture-order", makeOtherOrder},
    {"tp-dynamic-shape", makeShorterBatch},
    {"host-control-flow", makeHostControlFlow},
    {"attention-dynamic-dispatch", makeDynamicDispatch},
};

} // namespace

FaultFactory findFactory(std::string_view id) {
    for (const Factory& factory : kFactories) {
        if (factory.id == id) {
            return factory.make;
        }
    }
    return nullptr;
}

} // namespace gdt::faults
