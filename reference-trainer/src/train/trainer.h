// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/markov_corpus.h"
#include "parallel/rank_communicators.h"
#include "train/cycle_region.h"
#include "train/graph_memory.h"
#include "train/run_report.h"
#include "train/step_reader.h"

#include <memory>
#include <string>
#include <vector>

namespace gdt::train {

/// One rank's training run on one device: set up once, train, read results. The host queues steps ahead
/// of the device and looks at losses only in batches, so in steady state it never waits between two replays
/// and nothing is allocated. One thread.
template <class T> class Trainer {
public:
    using Wide = kernels::Wide<T>;

    /// All outlive the trainer; `communicators` are those of a rank of its own unless the job has several.
    Trainer(const RunConfig& config, const parallel::ParallelState& ranks,
        const parallel::RankCommunicators& communicators, RunReport& report);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// Device, memory, model, corpus, faults.
    runtime::Status setUp();
    /// All steps, or until a checkpoint was made on request (requestStop); then parameters() and records()
    /// are filled.
    runtime::Status train();
    /// One sentence when a call failed because of a file, else empty.
    [[nodiscard]] const std::string& problem() const { return m_problem; }
    /// That file is another rank's, which has a sentence of its own.
    [[nodiscard]] bool othersProblem() const { return m_othersProblem; }

    [[nodiscard]] const std::vector<optim::StepRecord>& records() const { return m_records; }
    [[nodiscard]] const std::vector<Wide>& parameters() const { return m_parameters; }
    [[nodiscard]] const optim::AdamWOptimizer<T>& optimizer() const { return *m_optimizer; }
    [[nodiscard]] const model::ParameterLayout& layout() const { return m_stage.layout(); }
    [[nodiscard]] const graphs::GraphManager& graphManager() const { return m_manager; }
    /// Of the device, taken by the trainer itself.
    [[nodiscard]] std::size_t deviceBytes() const { return m_deviceBytes; }

    static constexpr std::int64_t kRunAhead = 8;

private:
    runtime::Status allocate();
    runtime::Status openGraphMemory();
    [[nodiscard]] std::int64_t wholeParameters() const;
    void observe(const graphs::Transition& transition);
    runtime::Status fillMemory();
    runtime::Status fillScales();
    runtime::Status openFaults();
    void buildRegions();
    [[nodiscard]] parallel::GradientReduction reduction() const;
    [[nodiscard]] PassRunner passRunner();
    runtime::Status openSides();
    runtime::Status openModelledPeers();
    runtime::Status loadText(std::vector<std::int32_t>& text);
    /// What a checkpoint holds, as buffers of the host in the order of the file.
    struct Image;
    runtime::Status resume();
    runtime::Status save(std::int64_t step, bool stops);
    runtime::Status saveWhenDue(std::int64_t step, bool& stop);
    runtime::Status step(std::int64_t step);
    runtime::Status runRegion(const graphs::GraphKey& key, graphs::Region& region, bool graph);
    runtime::Status issueStep(std::int64_t step);
    runtime::Status waitForPace(std::int64_t step);
    runtime::Status stepFinished(std::int64_t step);
    runtime::Status readBack(std::int64_t step);
    runtime::Status drainOne();
    runtime::Status finish();
    [[nodiscard]] graphs::GraphKey key(graphs::Scope scope, std::int64_t seqLen) const;
    runtime::Status deviceArray(void** pointer, std::size_t bytes);

    const RunConfig& m_config;
    const parallel::ParallelState& m_ranks;
    const parallel::RankCommunicators& m_communicators;
    RunReport& m_report;
    pipeline::Schedule::Stage m_schedule;
    parallel::SideStream m_tensorSide, m_ringSide;
    parallel::ModelParallel m_parallel;
    std::unique_ptr<data::MarkovCorpus> m_corpus; ///< null when the text comes from a file
    std::int64_t m_textTokens = 0;
    std::int64_t m_firstStep = 0;
    std::string m_problem;
    bool m_othersProblem = false;
    faults::FaultInjector m_faults;
    runtime::Device m_device;
    graphs::StreamSlot m_compute;
    model::GptStage<T> m_stage;
    std::unique_ptr<graphs::Agreement> m_agreement;
    std::unique_ptr<graphs::Agreement> m_stageAgreement;
    GraphMemory m_memory;
    graphs::GraphManager m_manager;

    Wide* m_master = nullptr; // parameters
    T* m_values = nullptr; // what the model computes with: the same block unless T is narrow
    Wide* m_gradients = nullptr;
    optim::StepState* m_state = nullptr;
    kernels::Fp8Scales m_scales; // of no tensors unless --dtype fp8
    std::int32_t* m_text = nullptr;
    std::vector<void*> m_deviceArrays;
    std::size_t m_deviceBytes = 0;

    std::unique_ptr<optim::AdamWOptimizer<T>> m_optimizer;
    std::unique_ptr<CycleRegion<T>> m_cycle;
    std::unique_ptr<OptimizerRegion<T>> m_update;
    std::unique_ptr<FullRegion<T>> m_full;
    std::unique_ptr<StepReader> m_reader;
    std::unique_ptr<faults::FaultEnvironment> m_environment;
    // Of step % kStepEvents: those of the steps under way and of the one before them, whose time the next
    // needs.
    static constexpr std::int64_t kStepEvents = kRunAhead + 1;
    runtime::Event m_stepDone[kStepEvents];
    std::int64_t m_unread = 0; // first step not yet requested from the reader
    std::vector<optim::StepRecord> m_records;
    std::vector<Wide> m_parameters;
};

/// From a signal handler: ask all trainers of the process to make a checkpoint and leave.
void requestStop();
[[nodiscard]] bool stopRequested();

} // namespace gdt::train
