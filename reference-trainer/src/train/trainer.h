// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
#include "data/markov_corpus.h"
#include "parallel/parallel_state.h"
#include "train/cycle_region.h"
#include "train/run_report.h"
#include "train/step_reader.h"

#include <memory>
#include <vector>

namespace gdt::train {

/// Communicators of this rank; null with one replica.
struct Communicators {
    comm::Communicator* gradients = nullptr;
    comm::Communicator* agreement = nullptr;
};

/// One rank's training run on one device: set up once, train, read results. The host queues steps ahead
/// of the device and looks at losses only in batches, so in steady state it never waits between two replays
/// and nothing is allocated. One thread.
template <class T> class Trainer {
public:
    using Wide = kernels::Wide<T>;

    Trainer(const RunConfig& config, const parallel::ParallelState& ranks, const Communicators& communicators,
        RunReport& report);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// Device, memory, model, corpus, faults.
    runtime::Status setUp();
    /// All steps; then parameters() and records() are filled.
    runtime::Status train();

    [[nodiscard]] const std::vector<optim::StepRecord>& records() const { return m_records; }
    [[nodiscard]] const std::vector<Wide>& parameters() const { return m_parameters; }
    [[nodiscard]] const graphs::GraphManager& graphManager() const { return m_manager; }

    static constexpr std::int64_t kRunAhead = 8;

private:
    runtime::Status allocate();
    runtime::Status fillMemory();
    runtime::Status openFaults();
    void buildRegions();
    runtime::Status step(std::int64_t step);
    runtime::Status runRegion(const graphs::GraphKey& key, graphs::Region& region, bool graph);
    runtime::Status issueStep(std::int64_t step);
    runtime::Status waitForPace(std::int64_t step);
    runtime::Status readBack(std::int64_t step);
    runtime::Status drainOne();
    runtime::Status finish();
    [[nodiscard]] graphs::GraphKey key(graphs::Scope scope, std::int64_t seqLen) const;
    runtime::Status deviceArray(void** pointer, std::size_t bytes);

    const RunConfig& m_config;
    const parallel::ParallelState& m_ranks;
    Communicators m_communicators;
    RunReport& m_report;
    data::MarkovCorpus m_corpus;
    faults::FaultInjector m_faults;
    runtime::Device m_device;
    graphs::StreamSlot m_compute;
    model::GptStage<T> m_stage;
    std::unique_ptr<graphs::Agreement> m_agreement;
    graphs::GraphManager m_manager;

    Wide* m_master = nullptr; // parameters
    T* m_values = nullptr; // what the model computes with: the same block unless T is narrow
    Wide* m_gradients = nullptr;
    optim::StepState* m_state = nullptr;
    std::int32_t* m_text = nullptr;
    std::int32_t* m_tokens = nullptr; // micro-batch, from the pool
    std::int32_t* m_targets = nullptr;
    runtime::GraphPool m_pool;
    std::vector<void*> m_deviceArrays;
    std::size_t m_deviceBytes = 0;

    std::unique_ptr<optim::AdamWOptimizer<T>> m_optimizer;
    std::unique_ptr<CycleRegion<T>> m_cycle;
    std::unique_ptr<OptimizerRegion<T>> m_update;
    std::unique_ptr<FullRegion<T>> m_full;
    std::unique_ptr<StepReader> m_reader;
    std::unique_ptr<faults::FaultEnvironment> m_environment;
    runtime::Event m_stepDone[kRunAhead]; // of step % kRunAhead
    std::int64_t m_unread = 0; // first step not yet requested from the reader
    std::vector<optim::StepRecord> m_records;
    std::vector<Wide> m_parameters;
};

} // namespace gdt::train
