// SPDX-License-Identifier: Apache-2.0
// What a run must have for a fault to happen in it at all.
#include "faults/fault_injector.h"

namespace gdt::faults {

namespace {

struct Need {
    std::string_view id;
    bool (*met)(const RunShape& run);
    const char* sentence; // goes on after the id
};

constexpr Need kNeeds[] = {
    {"tp-allreduce-unjoined", [](const RunShape& run) { return run.replicas >= 2; },
        "needs an all-reduce to misplace: use --dp 2 or more"},
    {"dp-cross-node", [](const RunShape& run) { return run.modelledComm && run.replicas >= 2 * run.context; },
        "needs a network model and replicas to move apart: use --comm model and --dp 2 or more"},
    {"nccl-abort", [](const RunShape& run) { return run.replicas >= 2; },
        "needs a communicator to abort: use --dp 2 or more"},
    {"pool-rank0-only", [](const RunShape& run) { return run.ranks >= 2; },
        "needs ranks without a pool: use --dp 2 or more"},
    {"rank-divergent-capture", [](const RunShape& run) { return run.ranks >= 2; },
        "needs ranks that differ: use --dp 2 or more"},
    {"tp-allreduce-stripped", [](const RunShape& run) { return run.tensor >= 2; },
        "needs tensor-parallel collectives: use --tp 2 or more"},
    {"tp-dynamic-shape", [](const RunShape& run) { return run.tensor >= 2; },
        "needs tensor-parallel collectives, whose counts change: use --tp 2 or more"},
    {"pp-unfused-p2p", [](const RunShape& run) { return run.stages >= 2 && run.microBatches >= 2; },
        "needs messages in both directions at a time: use --pp 2 or more and --micro-batches 2 or more"},
    {"pp-single-microbatch-capture", [](const RunShape& run) { return run.stages >= 2; },
        "needs messages between stages: use --pp 2 or more"},
    {"shared-graph-exec", [](const RunShape& run) { return run.stages >= 2 && run.microBatches >= 2; },
        "needs several micro-batches at a time on a stage: use --pp 2 or more and --micro-batches 2 or more"},
    {"capture-order", [](const RunShape& run) { return run.stages == 1 && run.microBatches >= 2; },
        "needs several micro-batches that share buffers: use --micro-batches 2 or more and --pp 1"},
    {"ring-send-recv-order", [](const RunShape& run) { return run.context >= 2; },
        "needs a ring: use --cp 2 or more"},
    {"ring-parity-missing", [](const RunShape& run) { return run.context >= 2; },
        "needs a ring: use --cp 2 or more"},
    {"ring-whole-dynamic", [](const RunShape& run) { return run.context >= 3; },
        "needs a ring with two directions: use --cp 3 or more"},
    {"dropout-frozen", [](const RunShape& run) { return run.dropout; },
        "needs masks to repeat: use --dropout 0.1 or more"},
    {"fp8-scale-host", [](const RunShape& run) { return run.fp8; },
        "needs scales to freeze: use --dtype fp8"},
    {"nonflash-attention", [](const RunShape& run) { return run.context == 1; },
        "needs an attention over whole sequences: leave out --cp"},
    {"attention-dynamic-dispatch", [](const RunShape& run) { return run.context == 1; },
        "needs an attention over whole sequences: leave out --cp"},
};

// Those that change the length of sequences, which some layouts split evenly.
constexpr std::string_view kChangesLength[] = {"graph-cache-overflow", "nonflash-attention",
    "tp-dynamic-shape", "host-control-flow", "attention-dynamic-dispatch"};

std::string beyond(const FaultSpec& spec, const char* what, std::int64_t value, std::int64_t count) {
    return "--fault " + spec.id + "@" + what + "=" + std::to_string(value) + " never happens: the run has "
        + std::to_string(count) + " " + what + (count == 1 ? "" : "s") + ", counted from 0";
}

std::string problemOf(const FaultSpec& spec, const RunShape& run) {
    if (spec.step.value_or(0) >= run.steps) {
        return beyond(spec, "step", *spec.step, run.steps);
    }
    if (spec.layer.value_or(0) >= run.layers) {
        return beyond(spec, "layer", *spec.layer, run.layers);
    }
    if (spec.rank.value_or(0) >= run.ranks) {
        return beyond(spec, "rank", *spec.rank, run.ranks);
    }
    const std::string name = "--fault " + spec.id + " ";
    if (findFault(spec.id)->needsGraphs && !run.graphs) {
        return name + "needs graphs to go wrong: leave out --graph-mode eager";
    }
    for (const Need& need : kNeeds) {
        if (need.id == spec.id && !need.met(run)) {
            return name + need.sentence;
        }
    }
    for (const std::string_view id : kChangesLength) {
        if (id == spec.id && run.splitsSequences) {
            return name
                + "changes the sequence length, which --cp and --sequence-parallel split evenly: leave them "
                  "out";
        }
        if (id == spec.id && run.seqLen < 8) {
            return name + "needs --seq-len 8 or more to have lengths to choose from";
        }
    }
    return {};
}

} // namespace

std::string FaultInjector::problem(const RunShape& run) const {
    std::string problem;
    for (const FaultSpec& spec : m_specs) {
        problem = problem.empty() ? problemOf(spec, run) : problem;
    }
    return problem;
}

} // namespace gdt::faults
