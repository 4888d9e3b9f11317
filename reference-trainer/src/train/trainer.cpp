// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include "runtime/version.h"
#include "train/fault_setup.h"
#include "train/marks.h"

#include <cmath>

namespace gdt::train {

using graphs::Scope;
using runtime::CopyKind;
using runtime::Status;

namespace {

constexpr std::uint64_t kSamplingSeedOffset = 0x5eed;
constexpr std::uint64_t kModelledStream = 0x6d6f64656c; ///< keeps made-up messages apart from parameters
constexpr double kModelledDeviation = 0.1;

runtime::DeviceOptions deviceOptions(const RunConfig& config) {
    runtime::DeviceOptions options;
    options.backend = config.backend;
    options.ordinal = config.gpu;
    options.tf32 = config.type == ElementType::TF32;
    options.hostWorkers = config.hostWorkers;
    return options;
}

std::unique_ptr<graphs::Agreement> makeAgreement(
    runtime::Device& device, const std::unique_ptr<comm::Communicator>& communicator) {
    if (communicator == nullptr) {
        return std::make_unique<graphs::LoneAgreement>();
    }
    return std::make_unique<graphs::CommunicatorAgreement>(device, *communicator);
}

Status openAgreement(graphs::Agreement& agreement) {
    auto* real = dynamic_cast<graphs::CommunicatorAgreement*>(&agreement);
    return real != nullptr ? real->open() : Status::Success;
}

pipeline::Schedule::Stage scheduleOf(const RunConfig& config, const parallel::ParallelState& ranks) {
    const pipeline::ScheduleShape shape{
        config.schedule, config.parallel.pipeline, config.virtualStages, config.microBatches};
    const int stage = ranks.coordinate(parallel::Axis::Pipeline);
    return pipeline::makeSchedule(shape).stages[static_cast<std::size_t>(stage)];
}

// Streams beside the compute stream only where a graph, or everything, holds both their ends.
parallel::ModelParallel modelParallel(const RunConfig& config, const parallel::ParallelState& ranks,
    const parallel::RankCommunicators& communicators, parallel::SideStream& tensorSide,
    parallel::SideStream& ringSide) {
    using parallel::Axis;
    const bool blind = config.graphs.mode == graphs::GraphMode::Auto;
    const bool forks = config.tensorComm == CollectivePlacement::Fork && !blind;
    return {{ranks.coordinate(Axis::Tensor), ranks.size(Axis::Tensor), communicators.tensor.get(),
                config.sequenceParallel, forks ? &tensorSide : nullptr},
        {ranks.coordinate(Axis::Context), ranks.size(Axis::Context), communicators.context.get(),
            config.ringLayout, blind ? nullptr : &ringSide,
            !faults::isArmed(config.faults, "ring-send-recv-order"),
            faults::isArmed(config.faults, "ring-parity-missing")}};
}

model::ModelConfig modelOf(const RunConfig& config) {
    model::ModelConfig model = config.model;
    model.dropoutSeed = config.seed;
    model.fp8 = config.type == ElementType::FP8;
    return model;
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
    const parallel::RankCommunicators& communicators, RunReport& report)
    : m_config(config)
    , m_ranks(ranks)
    , m_communicators(communicators)
    , m_report(report)
    , m_schedule(scheduleOf(config, ranks))
    , m_parallel(modelParallel(config, ranks, communicators, m_tensorSide, m_ringSide))
    , m_corpus(config.dataFile.empty()
              ? std::make_unique<data::MarkovCorpus>(config.corpusVocab, config.sharpness, config.seed)
              : nullptr)
    , m_faults(config.faults)
    , m_device(deviceOptions(config))
    , m_stage(modelOf(config), config.microBatch, m_parallel,
          {ranks.coordinate(parallel::Axis::Pipeline), config.parallel.pipeline, m_schedule.slots},
          config.distributedOptimizer ? config.parallel.data * config.parallel.context : 1)
    , m_agreement(makeAgreement(m_device, communicators.agreement))
    , m_stageAgreement(makeAgreement(m_device, communicators.stageAgreement))
    , m_manager(
          config.graphs, m_faults, *m_agreement,
          [this](const graphs::Transition& transition) { observe(transition); }, m_stageAgreement.get(),
          &m_memory) { }

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
    m_memory.close();
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
    if (const std::int64_t tensors = m_stage.fp8Tensors(); tensors > 0) {
        GDT_TRY(deviceArray(
            &memory, static_cast<std::size_t>(kernels::Fp8Scales::floats(tensors)) * sizeof(float)));
        m_scales = kernels::Fp8Scales::in(static_cast<float*>(memory), tensors);
    }
    GDT_TRY(openGraphMemory());
    m_stage.bind(m_values, m_gradients, m_state);
    if (m_scales.count > 0) {
        m_stage.useFp8(m_scales);
    }
    return Status::Success;
}

template <class T> Status Trainer<T>::openGraphMemory() {
    GraphMemory::Options options;
    options.limitBytes = m_config.graphCacheBytes;
    options.share = poolShare(m_config, m_ranks.rank());
    options.spareBytes = std::size_t{1} << 18; // faults take some buffers of their own
    options.parameterBytes = static_cast<std::size_t>(wholeParameters()) * sizeof(T);
    options.keyByMicroBatch = m_config.keyByMicroBatch;
    const Status status
        = m_memory.open(m_device, m_stage.buffers(), m_schedule, m_config.parallel.pipeline, options);
    if (status == Status::OutOfMemory) {
        m_problem = "the device is too small: " + m_memory.plan().text();
    }
    m_deviceBytes += m_memory.takenBytes();
    return status;
}

template <class T> std::int64_t Trainer<T>::wholeParameters() const {
    return model::GptStage<float>(m_config.model, 1).layout().count();
}

template <class T> void Trainer<T>::observe(const graphs::Transition& transition) {
    markTransition(transition);
    // With a dead peer no graph is given up, the run is.
    if (transition.to != graphs::EntryState::Failed || m_communicators.error().empty()) {
        m_report.transition(transition);
    }
    if (transition.nodes > 0) {
        m_report.held(transition.key, m_memory.heldBy(transition.key));
    }
}

template <class T> Status Trainer<T>::fillMemory() {
    runtime::Stream& stream = m_compute.stream();
    const auto blockBytes = static_cast<std::size_t>(m_stage.layout().count()) * sizeof(Wide);
    GDT_TRY(m_stage.initialise(stream, m_config.seed, m_master));
    GDT_TRY(stream.memsetAsync(m_gradients, 0, blockBytes));
    optim::StepState state{};
    state.lossScale = m_config.optimizer.lossScale;
    GDT_TRY(stream.memcpyAsync(m_state, &state, sizeof(state), CopyKind::HostToDevice));
    GDT_TRY(fillScales());
    std::vector<std::int32_t> text;
    GDT_TRY(loadText(text));
    GDT_TRY(
        stream.memcpyAsync(m_text, text.data(), text.size() * sizeof(std::int32_t), CopyKind::HostToDevice));
    return stream.synchronize();
}

// Scales for the first step, before any value was seen. Inputs follow a norm and weights start small. The
// gradient of a token's loss is 1 / (tokens of a step); 2^-24 of it is still rounded to more than zero.
template <class T> Status Trainer<T>::fillScales() {
    if (m_scales.count == 0) {
        return Status::Success;
    }
    const float tokens = static_cast<float>(m_config.tokensPerStep());
    const float first[kernels::kFp8Tensors]
        = {16.0F, 2048.0F, 256.0F * std::exp2(std::floor(std::log2(tokens)))};
    std::vector<float> values(static_cast<std::size_t>(kernels::Fp8Scales::floats(m_scales.count)));
    const kernels::Fp8Scales host = kernels::Fp8Scales::in(values.data(), m_scales.count);
    for (std::int64_t i = 0; i < m_scales.count; ++i) {
        host.scale[i] = first[i % kernels::kFp8Tensors];
        host.inverse[i].value = 1.0F / host.scale[i];
    }
    GDT_TRY(m_compute.stream().memcpyAsync(
        m_scales.memory(), values.data(), values.size() * sizeof(float), CopyKind::HostToDevice));
    return m_compute.stream().synchronize();
}

template <class T> Status Trainer<T>::loadText(std::vector<std::int32_t>& text) {
    if (m_corpus != nullptr) {
        text = m_corpus->generate(m_config.corpusTokens);
    } else {
        text = m_config.readData(m_problem);
        if (!m_problem.empty()) {
            return Status::InvalidValue;
        }
    }
    m_textTokens = static_cast<std::int64_t>(text.size());
    void* memory = nullptr;
    GDT_TRY(deviceArray(&memory, text.size() * sizeof(std::int32_t)));
    m_text = static_cast<std::int32_t*>(memory);
    return Status::Success;
}

template <class T> parallel::GradientReduction Trainer<T>::reduction() const {
    const model::ParameterLayout& layout = m_stage.layout();
    parallel::GradientReduction r;
    r.replicas = m_communicators.replicas.get();
    r.tensor = m_parallel.tensor.shards() ? m_communicators.tensor.get() : nullptr;
    r.tiedEmbedding = m_communicators.tiedEmbedding.get();
    r.lossRanks = m_communicators.loss.get();
    r.gradients = m_gradients;
    r.count = layout.count();
    r.type = parallel::wireType<Wide>();
    r.replicatedFirst = layout.replicated().first;
    r.replicatedCount = layout.replicated().count;
    for (const model::Parameter& parameter : layout.parameters()) {
        if (parameter.name == "embedding") {
            r.tableFirst = parameter.offset;
            r.tableCount = parameter.count;
        }
    }
    r.bucket = m_config.bucketElements;
    r.scatter = m_config.distributedOptimizer;
    r.loss = &m_state->loss;
    return r;
}

template <class T> PassRunner Trainer<T>::passRunner() {
    const bool blind = m_config.graphs.mode == graphs::GraphMode::Auto;
    const bool whole = m_config.passScope == Scope::Cycle && !blind;
    if (m_config.graphs.mode == graphs::GraphMode::Eager || !m_config.graphCycle || whole
        || m_config.graphFull) {
        return {};
    }
    PassRunner::Options options;
    options.manager = &m_manager;
    options.slot = &m_compute;
    options.scope = blind ? Scope::Microbatch : m_config.passScope;
    options.breaksAtComm = blind;
    options.keyByMicroBatch = m_config.keyByMicroBatch;
    options.sharesSlots = faults::isArmed(m_config.faults, "shared-graph-exec");
    options.keepsShapeApart = blind || m_config.graphs.guard != graphs::Guard::Strict;
    options.key = key(options.scope, 0);
    return PassRunner(options);
}

template <class T> void Trainer<T>::buildRegions() {
    using parallel::Axis;
    const bool sharded = m_config.distributedOptimizer && m_communicators.replicas != nullptr;
    optim::OptimizerRanks ranks;
    ranks.norm = sharded ? m_communicators.everyone() : m_communicators.model.get();
    ranks.shards = sharded ? m_communicators.replicas.get() : nullptr;
    if (m_scales.count > 0) {
        ranks.tensorParts = {m_communicators.tensor.get(), m_communicators.replicas.get()};
    }
    ranks.countsReplicated = m_ranks.coordinate(Axis::Tensor) == 0;
    m_optimizer = std::make_unique<optim::AdamWOptimizer<T>>(m_device, m_config.optimizer, m_stage.layout(),
        m_master, m_values, m_gradients, m_state, ranks, m_scales, &m_faults);
    const kernels::FetchTokens::Args fetch{m_text, m_state, nullptr, nullptr, m_textTokens,
        m_config.model.seqLen, m_config.microBatch, 0, m_config.microBatches, m_ranks.coordinate(Axis::Data),
        m_ranks.size(Axis::Data), m_config.seed + kSamplingSeedOffset};
    m_cycle = std::make_unique<CycleRegion<T>>(typename CycleRegion<T>::Parts{m_stage, m_parallel, m_faults,
        reduction(), m_communicators.pipeline.get(), m_schedule, fetch, passRunner(),
        !faults::isArmed(m_config.faults, "pp-unfused-p2p")});
    m_update = std::make_unique<OptimizerRegion<T>>(*m_optimizer);
    m_full = std::make_unique<FullRegion<T>>(*m_cycle, *m_update);
}

template <class T> Status Trainer<T>::openSides() {
    if (m_parallel.tensor.side != nullptr) {
        GDT_TRY(m_tensorSide.open(m_device));
    }
    return m_parallel.context.size > 1 && m_parallel.context.side != nullptr ? m_ringSide.open(m_device)
                                                                             : Status::Success;
}

// What stages and ring neighbours that do not exist would send: ordinary numbers, since kernels may be faster
// on zeros.
template <class T> Status Trainer<T>::openModelledPeers() {
    if (!m_config.modelledComm) {
        return Status::Success;
    }
    for (const std::string& group : m_config.modelledGroups) {
        mark("MODELLED " + group);
    }
    const model::ModelConfig& model = m_config.model;
    const std::int64_t rows = m_parallel.context.localLength(model.seqLen) * m_config.microBatch;
    const std::int64_t count = rows * 2 * model.hidden; // keys and values are the longest message
    void* wide = nullptr;
    GDT_TRY(deviceArray(&wide, static_cast<std::size_t>(count) * sizeof(Wide)));
    GDT_TRY(m_compute.stream().template launch<kernels::InitNormal<Wide>>(model::gridFor(count),
        {static_cast<Wide*>(wide), count, m_config.seed, kModelledStream, 0, 0.0, kModelledDeviation, count,
            count}));
    void* source = wide;
    if constexpr (!std::is_same_v<T, Wide>) {
        GDT_TRY(deviceArray(&source, static_cast<std::size_t>(count) * sizeof(Wide)));
        GDT_TRY(m_compute.stream().memsetAsync(source, 0, static_cast<std::size_t>(count) * sizeof(Wide)));
        GDT_TRY(m_compute.stream().template launch<kernels::RoundValues<T>>(
            model::gridFor(count), {static_cast<Wide*>(wide), static_cast<T*>(source), count}));
    }
    m_communicators.setModelledSource(source, static_cast<std::size_t>(count) * sizeof(Wide));
    return m_compute.stream().synchronize();
}

template <class T> Status Trainer<T>::openFaults() {
    m_environment = std::make_unique<faults::FaultEnvironment>(faults::FaultEnvironment{m_device,
        m_memory.pool(), m_compute, m_state,
        m_stage.plan().firstLayer(m_stage.plan().part(0), m_config.model.layers), m_config.model.seqLen,
        m_config.steps, static_cast<std::int64_t>(m_config.graphs.maxGraphs), m_ranks.rank(), m_deviceBytes,
        [this] { return m_optimizer->ensureState(); }, [this] { return m_optimizer->releaseState(); },
        m_config.optimizer, m_config.graphs.warmupRuns, m_gradients,
        static_cast<std::size_t>(m_stage.layout().count()) * sizeof(Wide), m_communicators.replicas.get(),
        0.0, [this](std::int64_t layer) { return m_stage.fp8Scales(m_scales, layer); }});
    return m_faults.open(*m_environment);
}

template <class T> Status Trainer<T>::setUp() {
    const runtime::Versions versions = runtime::versions(m_config.backend);
    mark("versions: built for CUDA " + runtime::versionText(versions.built) + ", runtime CUDA "
        + runtime::versionText(versions.runtime));
    GDT_TRY(m_compute.open(m_device));
    GDT_TRY(openAgreement(*m_agreement));
    GDT_TRY(openAgreement(*m_stageAgreement));
    GDT_TRY(openSides());
    GDT_TRY(allocate());
    GDT_TRY(fillMemory());
    buildRegions();
    m_reader = std::make_unique<StepReader>(m_device, m_state);
    GDT_TRY(m_reader->open());
    for (runtime::Event& event : m_stepDone) {
        GDT_TRY(runtime::Event::create(m_device, event));
    }
    GDT_TRY(openFaults());
    GDT_TRY(openModelledPeers());
    if (!m_config.resumeFolder.empty()) {
        GDT_TRY(resume());
    }
    m_report.begin(m_corpus.get(), wholeParameters(),
        {m_deviceBytes, m_device.peakRate(m_config.type == ElementType::FP8 ? 1 : sizeof(T)),
            m_config.modelledComm ? m_ranks.worldSize()
                                  : std::min(m_ranks.worldSize(), runtime::deviceCount(m_config.backend)),
            [this] {
                std::size_t free = 0;
                std::size_t total = 0;
                return runtime::ok(m_device.memoryInfo(&free, &total)) ? total - free : 0;
            }},
        m_firstStep);
    if (m_config.graphs.mode != graphs::GraphMode::Eager) {
        m_report.plan(m_memory.plan());
    }
    return Status::Success;
}

template <class T> graphs::GraphKey Trainer<T>::key(Scope scope, std::int64_t seqLen) const {
    if (scope == Scope::Optimizer) {
        return {scope, 0, 0, 0, static_cast<int>(sizeof(T))};
    }
    const bool apart = m_config.graphs.guard != graphs::Guard::Strict;
    return {
        scope, apart ? 0 : seqLen, m_config.microBatch, m_config.microBatches, static_cast<int>(sizeof(T))};
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
    GDT_TRY(m_compute.stream().record(m_stepDone[step % kStepEvents]));
    return readBack(step);
}

template <class T> Status Trainer<T>::issueStep(std::int64_t step) {
    GDT_TRY(m_faults.beginStep(step));
    const std::int64_t seqLen = m_faults.seqLen(m_config.model.seqLen);
    m_cycle->setSeqLen(seqLen);
    m_parallel.context.turned = m_faults.turnsRing();
    if (m_config.graphFull) {
        GDT_TRY(runRegion(key(Scope::Full, seqLen), *m_full, true));
        m_report.queued(m_manager.lastRun());
        GDT_TRY(m_stage.betweenReplays(m_faults, m_compute.stream()));
        return m_faults.endStep();
    }
    const bool cycleGraph = m_config.graphCycle && !m_cycle->capturesPasses();
    GDT_TRY(runRegion(key(Scope::Cycle, seqLen), *m_cycle, cycleGraph));
    m_report.queued(m_config.graphCycle ? m_manager.lastRun() : graphs::RunKind::Eager);
    GDT_TRY(m_stage.betweenReplays(m_faults, m_compute.stream()));
    GDT_TRY(runRegion(key(Scope::Optimizer, seqLen), *m_update, m_config.graphOptimizer));
    return m_faults.endStep();
}

template <class T> Status Trainer<T>::finish() {
    while (m_report.inFlight() > 0) { // m_unread steps were queued
        GDT_TRY(stepFinished(m_unread - m_report.inFlight()));
    }
    while (m_reader->underWay() > 0) {
        GDT_TRY(drainOne());
    }
    m_parameters.resize(static_cast<std::size_t>(m_stage.layout().count()));
    runtime::Stream& stream = m_compute.stream();
    GDT_TRY(stream.memcpyAsync(
        m_parameters.data(), m_master, m_parameters.size() * sizeof(Wide), CopyKind::DeviceToHost));
    GDT_TRY(stream.synchronize());
    m_report.end(hashOf(m_parameters), m_manager.counts());
    return Status::Success;
}

template <class T> Status Trainer<T>::train() {
    bool stop = false;
    for (std::int64_t i = m_firstStep; i < m_config.steps && !stop; ++i) {
        GDT_TRY(step(i));
        GDT_TRY(saveWhenDue(i + 1, stop));
    }
    return finish();
}

template class Trainer<float>;
template class Trainer<double>;
template class Trainer<kernels::BFloat16>;
template class Trainer<kernels::Float16>;

} // namespace gdt::train
