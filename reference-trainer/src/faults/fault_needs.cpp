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

// Whether @step says when the capture takes place.
bool choosesCapture(const FaultSpec& spec) {
    return spec.step.has_value();
}

std::string graphProblem(const FaultSpec& spec, const RunShape& run) {
    const std::string name = "--fault " + spec.id + " ";
    const NeededGraphs needed = findFault(spec.id)->graphs;
    if (needed == NeededGraphs::None) {
        return {};
    }
    if (!run.passGraphs && !run.optimizerGraph) {
        return name + "needs graphs to go wrong: leave out --graph-mode eager";
    }
    if (needed == NeededGraphs::Passes && !run.passGraphs) {
        return name + "goes wrong in graphs of the passes, and --graph-scope captures none of them";
    }
    if (needed != NeededGraphs::Passes && !run.optimizerGraph) {
        return name + "goes wrong in the graph of the optimizer step, and --graph-scope captures none";
    }
    if (needed == NeededGraphs::OptimizerAlone && run.oneGraph) {
        return name + "needs a graph of the optimizer step alone, which --graph-scope full does not make";
    }
    if (!choosesCapture(spec) && run.warmupRuns >= run.steps) {
        return name + "never happens: --graph-warmup " + std::to_string(run.warmupRuns) + " leaves none of "
            + std::to_string(run.steps) + " --steps to capture";
    }
    return {};
}

// Those whose parameter has a meaning for some runs only.
std::string parameterProblem(const FaultSpec& spec, const RunShape& run) {
    const std::string name = "--fault " + spec.id;
    if (spec.id == "tp-dynamic-shape" && spec.param && *spec.param >= static_cast<double>(run.seqLen)) {
        return name + " leaves no token: --seq-len is " + std::to_string(run.seqLen);
    }
    if (spec.id != "graph-cache-overflow" || spec.harmless) {
        return {};
    }
    const std::int64_t most = run.seqLen / 2;
    const auto lengths
        = static_cast<std::int64_t>(spec.param.value_or(static_cast<double>(run.maxGraphs + 4)));
    if (lengths > most) {
        return name + " needs as many sequence lengths as --max-graphs and more, and of --seq-len "
            + std::to_string(run.seqLen) + " there are " + std::to_string(most)
            + " of half of it or more: " + std::to_string(lengths) + " are wanted";
    }
    if (!run.blind && lengths <= run.maxGraphs) {
        return name + ":" + std::to_string(lengths) + " never happens: --max-graphs "
            + std::to_string(run.maxGraphs) + " has room for a graph of each length";
    }
    return {};
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
    if (std::string problem = graphProblem(spec, run); !problem.empty()) {
        return problem;
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
    return parameterProblem(spec, run);
}

// The same fault at the same place can only happen once.
std::string repeated(const std::vector<FaultSpec>& specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const FaultSpec& a = specs[i];
            const FaultSpec& b = specs[k];
            if (a.id == b.id && a.step == b.step && a.layer == b.layer && a.rank == b.rank) {
                return "--fault " + a.id + " is given twice for the same place";
            }
        }
    }
    return {};
}

} // namespace

std::string FaultInjector::problem(const RunShape& run) const {
    std::string problem = repeated(m_specs);
    for (const FaultSpec& spec : m_specs) {
        problem = problem.empty() ? problemOf(spec, run) : problem;
    }
    return problem;
}

} // namespace gdt::faults
