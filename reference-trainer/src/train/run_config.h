// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_registry.h"
#include "graphs/graph_manager.h"
#include "model/config.h"
#include "optim/adamw.h"

#include <string>
#include <vector>

namespace gdt::train {

enum class ElementType { F32, F64, BF16 };

[[nodiscard]] constexpr const char* elementName(ElementType type) {
    return type == ElementType::F64 ? "fp64" : type == ElementType::F32 ? "fp32" : "bf16";
}

/// Everything a run depends on, as read from the command line.
struct RunConfig {
    model::ModelConfig model;
    optim::OptimizerConfig optimizer;
    graphs::ManagerOptions graphs;
    bool graphCycle = true; ///< capture forward and backward passes
    bool graphOptimizer = true; ///< capture the optimizer step
    bool graphFull = false; ///< capture both as one graph
    ElementType type = ElementType::F32;

    std::int64_t steps = 200;
    std::int64_t microBatch = 4;
    std::int64_t microBatches = 2;
    std::uint64_t seed = 1;
    int dataParallel = 1;

    std::int64_t corpusVocab = 8; ///< tokens of the language; model.vocab may be padded beyond
    std::int64_t corpusTokens = 1 << 18;
    double sharpness = 1.5; ///< of the corpus, see MarkovCorpus

    runtime::Backend backend = runtime::Backend::Host;
    int gpu = -1; ///< of the CUDA backend; -1: the rank's number on its host, modulo the GPUs there
    int localRank = 0; ///< this rank's number on its host
    int hostWorkers = 1;
    std::int64_t logInterval = 10; ///< steps between two reads of the loss, at most StepState::kHistory
    bool marks = true;
    bool quiet = false; ///< no progress lines
    std::string logFile; ///< empty: none
    std::string rendezvous; ///< folder where ranks find each other; empty: from the job's key
    std::vector<faults::FaultSpec> faults;
};

} // namespace gdt::train
