// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include "train/marks.h"

namespace gdt::train {

using graphs::Scope;
using runtime::CopyKind;
using runtime::Status;

namespace {

constexpr double kLossScale = 1.0; // fp32 and fp64 need none; the field is there for narrower types
constexpr std::uint64_t kSamplingSeedOffset = 0x5eed;

runtime::DeviceOptions deviceOptions(const RunConfig& config) {
    runtime::DeviceOptions options;
    options.backend = config.backend;
    options.ordinal = config.gpu;
    options.hostWorkers = config.hostWorkers;
    return options;
}

std::unique_ptr<graphs::Agreement> makeAgreement(runtime::Device& device, comm::Communicator* communicator) {
    if (communicator == nullptr) {
        return std::make_unique<graphs::LoneAgreement>();
    }
    return std::make_unique<graphs::CommunicatorAgreement>(device, *communicator);
}

// FNV-1a, so that two runs can be compared without storing their parameters.
template <class T> std::uint64_t hashOf(const std::vector<T>& values) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) {
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    }
    return hash;
}

} // namespace

template <class T>
Trainer<T>::Trainer(const RunConfig& config, const parallel::ParallelState& ranks,
    const Communicators& communicators, RunReport& report)
    : m_config(config)
    , m_ranks(ranks)
    , m_communicators(communicators)
    , m_report(report)
    , m_corpus(config.corpusVocab, config.sharpness, config.seed)
    , m_faults(config.faults)
    , m_device(deviceOptions(config))
    , m_stage(config.model, config.microBatch)
    , m_agreement(makeAgreement(m_device, communicators.agreement))
    , m_manager(config.graphs, m_faults, *m_agreement, [this](const graphs::Transition& transition) {
        markTransition(transition);
        m_report.transition(transition);
    }) { }

template <class T> Trainer<T>::~Trainer() {
    if (m_compute.anyLeftOpen()) {
        // The open capture forbids releases, and ending it now would hide from a tool that nobody did.
        runtime::CaptureMode mode = runtime::CaptureMode::Relaxed;
        (void)runtime::exchangeThreadCaptureMode(&mode);
    }
    (void)m_manager.clear();
    m_faults.close();
    m_reader.reset();
    m_optimizer.reset();
    (void)m_pool.destroy();
    for (void* array : m_deviceArrays) {
        (void)m_device.release(array);
    }
}

template <class T> Status Trainer<T>::deviceArray(void** pointer, std::size_t bytes) {
    GDT_TRY(m_device.allocate(pointer, bytes));
    m_deviceArrays.push_back(*pointer);
    m_deviceBytes += bytes;
    return Status::Success;
}

template <class T> Status Trainer<T>::allocate() {
    const auto count = static_cast<std::size_t>(m_stage.layout().count());
    const std::int64_t batchTokens = m_config.model.seqLen * m_config.microBatch;
    void* memory = nullptr;
    GDT_TRY(deviceArray(&memory, count * sizeof(Wide)));
    m_master = static_cast<Wide*>(memory);
    if constexpr (!std::is_same_v<T, Wide>) {
        GDT_TRY(deviceArray(&memory, count * sizeof(T)));
    }
    m_values = static_cast<T*>(memory);
    GDT_TRY(deviceArray(&memory, count * sizeof(Wide)));
    m_gradients = static_cast<Wide*>(memory);
    GDT_TRY(deviceArray(&memory, sizeof(optim::StepState)));
    m_state = static_cast<optim::StepState*>(memory);
    GDT_TRY(deviceArray(&memory, static_cast<std::size_t>(m_config.corpusTokens) * sizeof(std::int32_t)));
    m_text = static_cast<std::int32_t*>(memory);
    const std::size_t tokenBytes = static_cast<std::size_t>(batchTokens) * sizeof(std::int32_t);
    const std::size_t poolBytes = m_stage.activationBytes() + 2 * tokenBytes + (std::size_t{1} << 18);
    GDT_TRY(runtime::GraphPool::create(m_device, poolBytes, m_pool));
    m_deviceBytes += poolBytes;
    GDT_TRY(model::take(m_pool, &m_tokens, batchTokens));
    GDT_TRY(model::take(m_pool, &m_targets, batchTokens));
    return m_stage.bind(m_values, m_gradients, m_pool);
}

template <class T> Status Trainer<T>::fillMemory() {
    runtime::Stream& stream = m_compute.stream();
    const auto blockBytes = static_cast<std::size_t>(m_stage.layout().count()) * sizeof(Wide);
    GDT_TRY(m_stage.initialise(stream, m_config.seed, m_master));
    GDT_TRY(stream.memsetAsync(m_gradients, 0, blockBytes));
    optim::StepState state{};
    state.lossScale = kLossScale;
    GDT_TRY(stream.memcpyAsync(m_state, &state, sizeof(state), CopyKind::HostToDevice));
    const std::vector<std::int32_t> text = m_corpus.generate(m_config.corpusTokens);
    GDT_TRY(
        stream.memcpyAsync(m_text, text.data(), text.size() * sizeof(std::int32_t), CopyKind::HostToDevice));
    return stream.synchronize();
}

template <class T> void Trainer<T>::buildRegions() {
    m_optimizer = std::make_unique<optim::AdamWOptimizer<T>>(
        m_device, m_config.optimizer, m_stage.layout(), m_master, m_values, m_gradients, m_state);
    const comm::DataType type = sizeof(Wide) == 8 ? comm::DataType::Float64 : comm::DataType::Float32;
    const parallel::GradientReduction reduction{m_communicators.gradients, m_gradients,
        static_cast<std::size_t>(m_stage.layout().count()), type, &m_state->loss};
    const kernels::FetchTokens::Args fetch{m_text, m_state, m_tokens, m_targets, m_config.corpusTokens,
        m_config.model.seqLen, m_config.microBatch, 0, m_config.microBatches,
        m_ranks.coordinate(parallel::Axis::Data), m_ranks.size(parallel::Axis::Data),
        m_config.seed + kSamplingSeedOffset};
    m_cycle = std::make_unique<CycleRegion<T>>(
        typename CycleRegion<T>::Parts{m_stage, m_faults, reduction, m_state, fetch}, m_config.microBatches);
    m_update = std::make_unique<OptimizerRegion<T>>(*m_optimizer);
    m_full = std::make_unique<FullRegion<T>>(*m_cycle, *m_update);
}

template <class T> Status Trainer<T>::openFaults() {
    m_environment = std::make_unique<faults::FaultEnvironment>(faults::FaultEnvironment{m_device, m_pool,
        m_compute, m_state, m_config.model.layers, m_config.model.seqLen, m_config.steps,
        static_cast<std::int64_t>(m_config.graphs.maxGraphs), m_ranks.rank(), m_deviceBytes, 0.0,
        [this] { return m_optimizer->ensureState(); }, [this] { return m_optimizer->releaseState(); }});
    return m_faults.open(*m_environment);
}

template <class T> Status Trainer<T>::setUp() {
    GDT_TRY(m_compute.open(m_device));
    if (auto* agreement = dynamic_cast<graphs::CommunicatorAgreement*>(m_agreement.get())) {
        GDT_TRY(agreement->open());
    }
    GDT_TRY(allocate());
    GDT_TRY(fillMemory());
    buildRegions();
    m_reader = std::make_unique<StepReader>(m_device, m_state);
    GDT_TRY(m_reader->open());
    for (runtime::Event& event : m_stepDone) {
        GDT_TRY(runtime::Event::create(m_device, event, runtime::EventFlags::DisableTiming));
    }
    GDT_TRY(openFaults());
    m_report.begin(m_corpus, m_stage.layout().count(), m_deviceBytes);
    return Status::Success;
}

template <class T> graphs::GraphKey Trainer<T>::key(Scope scope, std::int64_t seqLen) const {
    if (scope == Scope::Optimizer) {
        return {scope, 0, 0, 0, static_cast<int>(sizeof(T))};
    }
    return {scope, seqLen, m_config.microBatch, m_config.microBatches, static_cast<int>(sizeof(T))};
}

template <class T>
Status Trainer<T>::runRegion(const graphs::GraphKey& key, graphs::Region& region, bool graph) {
    const MarkedRange range(graphs::scopeName(key.scope));
    return graph ? m_manager.run(key, region, m_compute) : region.issue(m_compute.stream());
}

template <class T> Status Trainer<T>::step(std::int64_t step) {
    const MarkedRange range("graphdoctor.step", step);
    GDT_TRY(waitForPace(step));
    GDT_TRY(issueStep(step));
    GDT_TRY(m_compute.stream().record(m_stepDone[step % kRunAhead]));
    return readBack(step);
}

template <class T> Status Trainer<T>::waitForPace(std::int64_t step) {
    return step < kRunAhead ? Status::Success : m_stepDone[step % kRunAhead].synchronize();
}

template <class T> Status Trainer<T>::issueStep(std::int64_t step) {
    GDT_TRY(m_faults.beginStep(step));
    const std::int64_t seqLen = m_faults.seqLen(m_config.model.seqLen);
    m_cycle->setSeqLen(seqLen);
    if (m_config.graphFull) {
        GDT_TRY(runRegion(key(Scope::Full, seqLen), *m_full, true));
        m_report.queued(m_manager.lastRun());
        GDT_TRY(m_stage.betweenReplays(m_faults, m_compute.stream()));
        return m_faults.endStep();
    }
    GDT_TRY(runRegion(key(Scope::Cycle, seqLen), *m_cycle, m_config.graphCycle));
    m_report.queued(m_config.graphCycle ? m_manager.lastRun() : graphs::RunKind::Eager);
    GDT_TRY(m_stage.betweenReplays(m_faults, m_compute.stream()));
    GDT_TRY(runRegion(key(Scope::Optimizer, seqLen), *m_update, m_config.graphOptimizer));
    return m_faults.endStep();
}

template <class T> Status Trainer<T>::drainOne() {
    std::vector<optim::StepRecord> records;
    GDT_TRY(m_reader->next(records));
    m_report.finished(records);
    m_environment->secondsPerStep = m_report.fastestStepSeconds();
    m_records.insert(m_records.end(), records.begin(), records.end());
    return Status::Success;
}

template <class T> Status Trainer<T>::readBack(std::int64_t step) {
    // The copy lies before a step that waitForPace() has seen finished: reading it does not wait.
    if (m_reader->underWay() > 0 && m_reader->oldest() + 1 + kRunAhead <= step) {
        GDT_TRY(drainOne());
    }
    const bool last = step + 1 == m_config.steps;
    if (step + 1 - m_unread < m_config.logInterval && !last) {
        return Status::Success;
    }
    if (m_reader->underWay() == StepReader::kSlots) {
        GDT_TRY(drainOne());
    }
    GDT_TRY(m_reader->request(m_compute.stream(), m_unread, step));
    m_unread = step + 1;
    return Status::Success;
}

template <class T> Status Trainer<T>::finish() {
    while (m_reader->underWay() > 0) {
        GDT_TRY(drainOne());
    }
    m_parameters.resize(static_cast<std::size_t>(m_stage.layout().count()));
    runtime::Stream& stream = m_compute.stream();
    GDT_TRY(stream.memcpyAsync(
        m_parameters.data(), m_master, m_parameters.size() * sizeof(Wide), CopyKind::DeviceToHost));
    GDT_TRY(stream.synchronize());
    m_report.end(hashOf(m_parameters));
    return Status::Success;
}

template <class T> Status Trainer<T>::train() {
    for (std::int64_t i = 0; i < m_config.steps; ++i) {
        GDT_TRY(step(i));
    }
    return finish();
}

template class Trainer<float>;
template class Trainer<double>;
template class Trainer<kernels::BFloat16>;

} // namespace gdt::train
