// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/link_model.h"
#include "data/token_file.h"
#include "faults/fault_registry.h"
#include "graphs/graph_manager.h"
#include "model/config.h"
#include "optim/adamw.h"
#include "parallel/context_group.h"
#include "parallel/parallel_state.h"
#include "pipeline/schedule.h"
#include "runtime/host_pace.h"

#include <optional>
#include <string>
#include <vector>

namespace gdt::train {

enum class ElementType { F32, F64, BF16, TF32, F16, FP8 };

[[nodiscard]] constexpr const char* elementName(ElementType type) {
    constexpr const char* kNames[] = {"fp32", "fp64", "bf16", "tf32", "fp16", "fp8"};
    return kNames[static_cast<int>(type)];
}

/// Where the tensor-parallel collectives of a captured pass run.
enum class CollectivePlacement {
    Inside, ///< in the graph, in line with the kernels
    Fork, ///< in the graph, on a branch of their own that joins where the result is needed
    Outside, ///< between graphs; needs scope Segment
};

/// Everything a run depends on, as read from the command line.
struct RunConfig {
    model::ModelConfig model;
    optim::OptimizerConfig optimizer;
    graphs::ManagerOptions graphs;
    bool graphCycle = true; ///< capture forward and backward passes, as passScope says
    graphs::Scope passScope = graphs::Scope::Cycle; ///< or one within a pass
    bool keyByMicroBatch = false; ///< within a pass: a graph for each micro-batch instead of each buffer set
    CollectivePlacement tensorComm = CollectivePlacement::Inside;
    bool graphOptimizer = true; ///< capture the optimizer step
    bool graphFull = false; ///< capture both as one graph
    std::optional<std::size_t> graphCacheBytes; ///< limit of the graph pool; none: what the graphs need
    bool graphReport = false; ///< say for each graph which buffers of the pool it holds
    ElementType type = ElementType::F32;

    std::int64_t steps = 200;
    std::int64_t microBatch = 4;
    std::int64_t microBatches = 2;
    std::uint64_t seed = 1;

    parallel::ParallelSizes parallel;
    bool sequenceParallel = false; ///< norms and residual stream over the tensor-parallel ranks, too
    parallel::RingLayout ringLayout = parallel::RingLayout::Zigzag;
    pipeline::ScheduleKind schedule = pipeline::ScheduleKind::OneFOneB;
    int virtualStages = 1; ///< model chunks of a stage
    bool distributedOptimizer = false; ///< ZeRO-1
    std::int64_t bucketElements = std::int64_t{1} << 20; ///< of one gradient all-reduce

    std::int64_t corpusVocab = 8; ///< tokens of the language; model.vocab may be padded beyond
    std::int64_t corpusTokens = 1 << 18;
    std::string dataFile; ///< tokens to train on; empty: the Markov corpus
    data::TokenFormat dataFormat = data::TokenFormat::Bytes;
    double sharpness = 1.5; ///< of the corpus, see MarkovCorpus

    runtime::Backend backend = runtime::Backend::Host;
    int gpu = -1; ///< of the CUDA backend; -1: the rank's number on its host, modulo the GPUs there
    int localRank = 0; ///< this rank's number on its host
    int hostWorkers = 1;
    std::int64_t logInterval = 10; ///< steps between two reads of the loss, at most StepState::kHistory
    bool marks = true;
    bool quiet = false; ///< no progress lines
    std::string logFile; ///< empty: none
    std::string saveFolder; ///< of checkpoints; empty: none are written
    std::int64_t saveInterval = 0; ///< steps between two; 0: at the end, or when asked to stop, only
    std::string resumeFolder; ///< checkpoint to go on from; empty: start afresh
    std::string agreement; ///< the options that must be the same on all ranks, one a line
    std::string rendezvous; ///< folder where ranks find each other; empty: from the job's key
    runtime::HostPace hostPace;
    bool modelledComm = false; ///< this process alone stands for rank asRank; operations only take time
    int asRank = 0;
    comm::NetworkModel network; ///< how much time
    std::vector<std::string> modelledGroups; ///< what stands for which communicator; set by runRank()
    bool strictComm = true; ///< operations that do not fit together fail at once instead of hanging
    std::int64_t commTimeoutSeconds = 30; ///< how long an operation waits for other ranks
    std::vector<faults::FaultSpec> faults;

    [[nodiscard]] std::int64_t tokensPerStep() const {
        return model.seqLen * microBatch * microBatches * parallel.data;
    }
    /// Empty when model and schedule can be spread over the ranks like this, else one sentence that names the
    /// options to change.
    [[nodiscard]] std::string layoutProblem() const;
    /// The same for --dtype fp8 on a GPU, whose tensor cores multiply 8-bit factors 16 at a time.
    [[nodiscard]] std::string fp8Problem() const;
    /// The same for faults that name a rank and a layer which that rank does not hold.
    [[nodiscard]] std::string faultProblem() const;
    /// The tokens of dataFile; nothing, with one sentence, when they cannot be used.
    [[nodiscard]] std::vector<std::int32_t> readData(std::string& problem) const;
    /// Empty when checkpoints can be written, into a folder that is made for them, else one sentence.
    [[nodiscard]] std::string saveProblem() const;
    /// Empty when the files that the run reads can be used, else one sentence that names file and place.
    [[nodiscard]] std::string fileProblem() const;
};

} // namespace gdt::train
