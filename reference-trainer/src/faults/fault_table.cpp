// SPDX-License-Identifier: Apache-2.0
// The list of all faults.
#include "comm/link_model.h"
#include "faults/fault_registry.h"

namespace gdt::faults {

namespace {

using Words = std::vector<std::string_view>;

const Words kBoth{"host", "cuda"};
const Words kCapture{"step", "layer", "rank", "harmless"}; // of a fault inside a layer of a capture
const Words kCaptureOnce{"step", "rank", "harmless"};
const Words kEverywhere{"step", "harmless"}; // on all ranks alike
const Words kParamEverywhere{"param", "step", "harmless"};
const Words kSetUp{"harmless"};
constexpr NeededGraphs kNone = NeededGraphs::None;
constexpr NeededGraphs kPasses = NeededGraphs::Passes;
constexpr NeededGraphs kOptimizer = NeededGraphs::Optimizer;
constexpr NeededGraphs kOptimizerAlone = NeededGraphs::OptimizerAlone;

std::vector<FaultInfo> captureFaults() {
    return {
        {"item-in-capture", "4.8", "the loss is read with a stream synchronise inside the captured region",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD101"}},
        {"no-fallback", "4.10", "the same, and nobody catches it: the run ends with the failed capture",
            {"layer forward", "end capture", "fallback"}, kBoth, kCapture, {}, kPasses, {"GD101"}},
        {"no-warmup-optimizer", "3.2",
            "the optimizer's moments are allocated for the first time inside the capture",
            {"optimizer step", "warm-up"}, kBoth, kCaptureOnce, {}, kOptimizer, {"GD109"}},
        {"no-warmup-buffers", "3.2", "a layer's buffer is allocated for the first time inside the capture",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD109"}},
        {"nonflash-attention", "2.3",
            "an attention that is not fused sizes its scores lazily, and the longest batch comes when the "
            "step "
            "is captured",
            {"attention forward", "step start"}, kBoth, kCapture, {}, kPasses, {"GD109"}},
        {"zero3-offload", "6.2",
            "a parameter that lies on the host is brought to the device inside the capture",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD109"}},
        {"h2d-pending", "3.4", "pageable memory is copied to the device inside the capture, and waited for",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD103"}},
        {"capture-default-stream", "3.3",
            "a launch goes to the legacy default stream while a blocking stream is part of the capture",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD103"}},
        {"capture-on-all-ranks", "3.3", "a thread that takes the capture of this stage for its own ends it",
            {"end capture"}, kBoth, kCaptureOnce, {}, kPasses, {"GD108"}},
        {"gc-destroy-in-capture", "-", "an old graph is destroyed while another is captured in global mode",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD111"}},
        {"unjoined-fork", "-", "a stream forked inside the capture is not joined before its end",
            {"layer forward"}, kBoth, kCapture, {}, kPasses, {"GD104"}},
        {"abandoned-capture", "-", "an early return leaves the capture open",
            {"begin capture", "layer forward", "end capture"}, kBoth, kCapture, {}, kPasses, {"GD108"}},
        {"pp-event-outside-capture", "2.1",
            "the captured region waits on an event that another stream recorded before the capture began",
            {"step start", "layer forward"}, kBoth, kCapture, {}, kPasses, {"GD105"}},
        {"tp-allreduce-unjoined", "2.2",
            "the gradient all-reduce goes to a stream that never joined the capture: it runs once, at "
            "capture",
            {"gradient reduction"}, kBoth, kEverywhere, {}, kPasses, {"GD114"}, {"--dp", "2"}},
    };
}

std::vector<FaultInfo> replayFaults() {
    return {
        {"lr-frozen", "4.7", "the host passes the learning rate by value, and the graph repeats one",
            {"optimizer step"}, kBoth, kCaptureOnce, {}, kOptimizer, {"GD201"}},
        {"host-beta-step", "4.7", "the host passes the powers of Adam's betas by value", {"optimizer step"},
            kBoth, kCaptureOnce, {}, kOptimizer, {"GD201"}},
        {"clip-frozen", "1", "the host tightens the limit of the gradient norm and passes it by value",
            {"optimizer step"}, kBoth, kCaptureOnce, {}, kOptimizer, {"GD201"}},
        {"eps-by-phase", "4.1", "the norms of a layer get an epsilon by value that falls with the phases",
            {"layer norms"}, kBoth, {"param", "step", "layer", "rank", "harmless"},
            {"first epsilon, in multiples of the configured one (1000)", 0.1, 1e6}, kPasses, {"GD201"}},
        {"dropout-frozen", "-",
            "the dropout masks of a layer come from a seed by value: each replay draws the same", {"dropout"},
            kBoth, kCapture, {}, kPasses, {"GD201"}, {"--dropout", "0.1"}},
        {"fp8-scale-host", "4.11",
            "the host computes the scales of a layer's 8-bit tensors from its copy of their largest values "
            "and "
            "passes them by value",
            {"layer forward", "step end"}, kBoth, kCapture, {}, kPasses, {"GD213"}, {"--dtype", "fp8"}},
        {"host-control-flow", "4.1",
            "batches come with other lengths and the host cuts those that are too long; the graph has one "
            "length",
            {"step start"}, kBoth, kEverywhere, {}, kPasses, {"GD206"}},
        {"tp-dynamic-shape", "2.2",
            "the last batch of three has fewer tokens, and the graph sums the stale rows behind them, too",
            {"step start"}, kBoth, kParamEverywhere, {"tokens fewer (half the sequence)", 1, 1 << 24, true},
            kPasses, {"GD508"}, {"--tp", "2"}},
        {"attention-dynamic-dispatch", "4.3",
            "the kernel of the attention is chosen by the length; the graph keeps one, an update is refused",
            {"step start", "attention forward"}, kBoth, kCapture, {}, kPasses, {"GD708"}},
        {"replay-before-zero-grad", "3.3",
            "the optimizer's graph is replayed twice before the gradients are cleared",
            {"graph launch", "step end"}, kBoth, kCaptureOnce, {}, kOptimizerAlone, {"GD705"}},
        {"capture-order", "-",
            "graphs that share buffers are replayed in another order than they were captured", {"schedule"},
            kBoth, kEverywhere, {}, kPasses, {"GD205"},
            {"--graph-scope", "microbatch", "--graph-key", "microbatch"}},
        {"env-mismatch", "3.1",
            "the version check of containers is overridden and the runtime says it is another CUDA "
            "than the program was built for",
            {"environment"}, kBoth, {"param", "harmless"}, {"CUDA version that is named (10.2)", 1, 99.9},
            kNone, {"GD602"}},
        {"shared-graph-exec", "4.9", "one executable serves several sets of buffers", {"graph key"}, kBoth,
            kSetUp, {}, kPasses, {"GD710"}, {"--pp", "2", "--graph-scope", "microbatch"}},
        {"record-stream", "4.6",
            "a buffer that the graph uses goes back to the allocator and is handed out again",
            {"layer forward", "between replays"}, kBoth, kCapture, {}, kPasses, {"GD202"}},
        {"recompute-free", "4.4",
            "an activation is freed after the forward pass and computed again at another address; the "
            "captured "
            "backward pass reads the old one",
            {"layer forward", "after a forward pass", "layer backward"}, kBoth, kCapture, {}, kPasses,
            {"GD202"}},
        {"activation-realloc", "3.4", "some steps take their activations from the device instead of the pool",
            {"between replays"}, kBoth, {"param", "step", "layer", "rank", "harmless"},
            {"percent of the memory in use that such a step takes in addition (40)", 1, 1000}, kNone,
            {"GD402"}},
        {"pool-too-small", "2.1", "the pool has less memory than the graphs need, so they are not captured",
            {"graph pool"}, kBoth, {"param", "rank", "harmless"},
            {"percent of the memory that the graphs need (50)", 0, 99}, kPasses, {"GD406"}},
        {"pool-rank0-only", "4.2", "only rank 0 has a pool; the others have no memory for their graphs",
            {"graph pool"}, kBoth, kSetUp, {}, kPasses, {"GD408"}, {"--dp", "2"}},
        {"graph-leak", "4.12", "every second step is captured again, and what it replaces is kept",
            {"begin capture", "layer forward", "fallback"}, kBoth,
            {"param", "step", "layer", "rank", "harmless"}, {"MiB of a capture's own buffer (2)", 0.01, 1024},
            kPasses, {"GD401"}},
    };
}

std::vector<FaultInfo> paceFaults() {
    return {
        {"sync-in-graph-region", "3.4",
            "the host waits for the device between two replays and then inspects the gradients",
            {"between replays"}, kBoth, {"param", "step", "layer", "rank", "harmless"},
            {"microseconds the host takes after the wait (2000)", 0, 1e6}, kNone, {"GD302"}},
        {"replay-jitter", "3.4", "the host delays some launches at random", {"graph launch"}, kBoth,
            {"param", "step", "rank", "harmless"},
            {"length of a delay in steps (12), at most 5 s; three launches in ten are delayed", 0.01, 1000},
            kPasses, {"GD303"}},
        {"slow-dataloader", "6.1", "the loader needs longer for a batch than the device for a step",
            {"step start"}, kBoth, {"param", "step", "rank", "harmless"},
            {"time for a batch, in steps (4.3: 120 ms for 28 ms), at most 1 s", 0.01, 1000}, kNone,
            {"GD310"}},
        {"graph-cache-overflow", "2.1", "more sequence lengths than --max-graphs, so some always run eagerly",
            {"step start"}, kBoth, kParamEverywhere,
            {"number of sequence lengths (--max-graphs + 4)", 2, 1 << 16, true}, kPasses, {"GD306"}},
        {"pp-single-microbatch-capture", "2.1",
            "one graph a pass and micro-batch, and the host waits for each message between them",
            {"messages between stages"}, kBoth, kCaptureOnce, {}, kPasses, {"GD302"},
            // Where the host costs nothing after the wait, the next launch follows at once.
            {"--pp", "2", "--host-op-overhead-us", "100"}},
    };
}

std::vector<FaultInfo> rankFaults() {
    return {
        {"rank-divergent-capture", "2.2",
            "one rank leaves out the capture without telling the others, which replay their collectives",
            {"capture"}, kBoth, kCaptureOnce, {}, kPasses, {"GD502"}, {"--dp", "2"}},
        {"tp-allreduce-stripped", "3.4",
            "the tensor-parallel collectives are left out of the graphs and run eagerly between them",
            {"tensor-parallel collectives"}, kBoth, kSetUp, {}, kPasses, {"GD501"}, {"--tp", "2"}},
        {"pp-unfused-p2p", "2.1",
            "a stage sends to its neighbour before it receives, which does the same: each waits for the "
            "other",
            {"messages between stages"}, kBoth, kSetUp, {}, kNone, {"GD513"}, {"--pp", "2"}},
        {"ring-send-recv-order", "2.3",
            "every rank of the attention ring sends before it receives: all wait for each other",
            {"attention ring"}, kBoth, kSetUp, {}, kNone, {"GD513"}, {"--cp", "2"}},
        {"ring-parity-missing", "2.3",
            "keys and values travel in the buffer that the attention is reading: one instead of two",
            {"attention ring"}, kBoth, kSetUp, {}, kNone, {"GD217"}, {"--cp", "2"}},
        {"ring-whole-dynamic", "2.3",
            "the host turns the ring round from step to step, but the captured hops keep their peers",
            {"attention ring", "step start"}, kBoth, kEverywhere, {}, kPasses, {"GD511"}, {"--cp", "4"}},
        {"dp-cross-node", "6.3",
            "replicas are on different nodes with a slow network between them, which sums their gradients",
            {"network model"}, kBoth, {"param", "harmless"},
            {"GB/s between nodes (0.0125)", comm::kLeastGigabytesPerSecond, 1000}, kNone, {"GD514"},
            {"--dp", "2", "--comm", "model"}},
        {"nccl-abort", "4.5", "a communicator is aborted in the middle of the run", {"between replays"},
            kBoth, kCaptureOnce, {}, kPasses, {"GD509"}, {"--dp", "2"}},
    };
}

std::vector<FaultInfo> allFaults() {
    std::vector<FaultInfo> all;
    for (const auto& part : {captureFaults(), replayFaults(), paceFaults(), rankFaults()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

} // namespace

std::span<const FaultInfo> registry() {
    static const std::vector<FaultInfo> faults = allFaults();
    return faults;
}

} // namespace gdt::faults
