// SPDX-License-Identifier: Apache-2.0
#include "train/fault_setup.h"

#include "faults/fault.h"
#include "runtime/version.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace gdt::train {

namespace {

// Their clean form has the same graphs.
constexpr const char* kPassByPass[]
    = {"pp-single-microbatch-capture", "shared-graph-exec", "capture-order", "recompute-free"};
constexpr const char* kUnguarded[] = {"tp-dynamic-shape", "host-control-flow", "attention-dynamic-dispatch"};
constexpr double kOldCuda = 10.2; // knows no graph memory, no priorities of nodes
constexpr double kSlowNetwork = 0.0125; // GB/s: 100 Mbit/s, since the default model sends little
constexpr std::size_t kGraphsWithinPass = 4096;

bool isGiven(const RunConfig& config, const char* id) {
    return std::any_of(config.faults.begin(), config.faults.end(),
        [&](const faults::FaultSpec& spec) { return spec.id == id; });
}

} // namespace

faults::RunShape shapeOf(const RunConfig& c) {
    const bool captures = c.graphs.mode != graphs::GraphMode::Eager;
    faults::RunShape shape;
    shape.steps = c.steps;
    shape.layers = c.model.layers;
    shape.ranks = c.parallel.world();
    shape.replicas = c.parallel.data * c.parallel.context;
    shape.seqLen = c.model.seqLen;
    shape.passGraphs = captures && (c.graphCycle || c.graphFull);
    shape.optimizerGraph = captures && (c.graphOptimizer || c.graphFull);
    shape.oneGraph = c.graphFull;
    shape.blind = c.graphs.mode == graphs::GraphMode::Auto;
    shape.warmupRuns = shape.blind ? 1 : c.graphs.warmupRuns;
    shape.maxGraphs = static_cast<std::int64_t>(c.graphs.maxGraphs);
    shape.tensor = c.parallel.tensor;
    shape.context = c.parallel.context;
    shape.stages = c.parallel.pipeline;
    shape.microBatches = c.microBatches;
    shape.splitsSequences = c.parallel.context > 1 || c.sequenceParallel;
    shape.dropout = c.model.dropout > 0;
    shape.fp8 = c.type == ElementType::FP8;
    shape.modelledComm = c.modelledComm;
    return shape;
}

double poolShare(const RunConfig& config, int rank) {
    double share = 1;
    for (const faults::FaultSpec& spec : config.faults) {
        const bool here = !spec.rank || *spec.rank == rank;
        if (spec.id == "pool-too-small" && here && !spec.harmless) {
            share = spec.param.value_or(50.0) / 100.0;
        }
        if (spec.id == "pool-rank0-only" && rank != 0 && !spec.harmless) {
            share = 0;
        }
    }
    return share;
}

void setUpFaults(RunConfig& config, const OpenChoices& open) {
    const bool fine = graphs::withinPass(config.passScope);
    if (faults::isArmed(config.faults, "tp-allreduce-stripped")) {
        config.passScope = graphs::Scope::Segment;
        config.tensorComm = CollectivePlacement::Outside;
    }
    // Each pass by itself, so that the tokens come for the ring's direction of the step; the ring that stays
    // needs no such thing, and its sums of gradients belong into the graph.
    if (faults::isArmed(config.faults, "ring-whole-dynamic") && !graphs::withinPass(config.passScope)) {
        config.passScope = graphs::Scope::Microbatch;
    }
    for (const char* id : kPassByPass) {
        if (isGiven(config, id) && !graphs::withinPass(config.passScope)) {
            config.passScope = graphs::Scope::Microbatch;
        }
    }
    if (isGiven(config, "capture-order")) {
        config.keyByMicroBatch = true;
    }
    if (!fine && graphs::withinPass(config.passScope) && open.maxGraphs) {
        config.graphs.maxGraphs = kGraphsWithinPass;
    }
    for (const char* id : kUnguarded) {
        // The harmless form of the dispatch changes lengths, too, and updates its one executable.
        const bool changes = faults::isArmed(config.faults, id)
            || (isGiven(config, id) && std::string_view(id) == "attention-dynamic-dispatch");
        if (changes && open.guard) {
            config.graphs.guard = graphs::Guard::None;
        }
    }
}

void setUpNetwork(RunConfig& config) {
    for (const faults::FaultSpec& spec : config.faults) {
        if (spec.id == "dp-cross-node" && !spec.harmless) {
            // Data-parallel neighbours are that far apart, and all other ranks but pipeline stages are
            // nearer.
            config.network.ranksPerNode = config.parallel.tensor * config.parallel.context;
            config.network.betweenNodes.gigabytesPerSecond = spec.param.value_or(kSlowNetwork);
        }
    }
}

void setUpEnvironment(const RunConfig& config) {
    for (const faults::FaultSpec& spec : config.faults) {
        if (spec.id == "env-mismatch" && !spec.harmless) {
            const int tenths = static_cast<int>(std::lround(10 * spec.param.value_or(kOldCuda)));
            const int version = tenths / 10 * 1000 + tenths % 10 * 10;
            runtime::overrideVersion(version);
            // As in a container that was started in spite of its version check.
            (void)::setenv(kNoVersionCheck, "1", 1);
            (void)::setenv("CUDA_VERSION", runtime::versionText(version).c_str(), 1);
        }
    }
}

} // namespace gdt::train
