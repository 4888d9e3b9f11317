// SPDX-License-Identifier: Apache-2.0
#include "train/cli.h"

#include "comm/shm_communicator.h"
#include "faults/fault_injector.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include <unistd.h>

namespace gdt::train {

namespace {

constexpr const char* kDescription
    = "Trains a small GPT on text whose entropy is known, captured in CUDA graphs and replayed, on a "
      "GPU or, with the same rules, on the CPU.\n"
      "It is a job to try GraphDoctor on: healthy by default, and broken in one known way with --fault.";

constexpr const char* kExamples
    = "Examples:\n"
      "  reference-trainer                                  200 steps, captured and replayed\n"
      "  reference-trainer --graph-mode eager               the same numbers without graphs\n"
      "  reference-trainer --steps 2000                     until the loss is within 2 % of the entropy "
      "rate\n"
      "  reference-trainer --dp 2                           two replicas, two processes\n"
      "  reference-trainer --backend cuda                   the same on a GPU\n"
      "  reference-trainer --tp 2 --pp 2 --cp 2             one model over eight processes\n"
      "  reference-trainer --fault item-in-capture          a capture that fails; training goes on\n"
      "  graphdoctor run -- reference-trainer --fault item-in-capture\n"
      "Exit status: 0 trained to the end, 1 a device or communication error, 2 a wrong argument, 3 no usable "
      "GPU, or a file that cannot be used.";

// The range is in the message of a wrong value; in --help it would only be noise.
template <class Number> CLI::Validator within(Number least, Number most) {
    return CLI::Range(least, most).description("");
}

// Values that are not RunConfig fields as they are typed.
struct Raw {
    std::string backend = "host";
    std::string dtype = "fp32";
    std::string mode = "manual";
    std::vector<std::string> scopes{"cycle", "optimizer"};
    std::string policy = "fallback";
    std::string graphKey; // empty: as --graph-scope says
    bool scopeGiven = false;
    std::string tensorComm = "inside";
    std::string ringLayout = "zigzag";
    std::string comm = "real";
    std::vector<double> withinNode{5, 370}, betweenNodes{12, 45};
    std::string schedule = "1f1b";
    std::string dataFormat = "bytes";
    std::size_t maxGraphs = 0;
    double graphCacheMiB = -1;
    std::string norm = "layer";
    std::string activation = "gelu";
    std::string recompute = "none";
    bool untied = false;
    std::int64_t paddedVocab = 0;
    std::vector<std::string> faults;
    bool listFaults = false;
    bool json = false;
    bool noMarks = false;
};

void addModelOptions(CLI::App& app, RunConfig& config, Raw& raw) {
    const auto positive = within(std::int64_t{1}, std::int64_t{1} << 24);
    const char* group = "Model";
    app.add_option("--layers", config.model.layers, "Transformer layers")->group(group)->check(positive);
    app.add_option("--hidden", config.model.hidden, "Width of the residual stream")
        ->group(group)
        ->check(positive);
    app.add_option("--heads", config.model.heads, "Attention heads")->group(group)->check(positive);
    app.add_option("--seq-len", config.model.seqLen, "Tokens of a sequence")->group(group)->check(positive);
    app.add_option("--vocab", config.corpusVocab, "Tokens of the language")
        ->group(group)
        ->check(within(std::int64_t{2}, std::int64_t{512}));
    app.add_option("--padded-vocab", raw.paddedVocab, "Rows of the embedding, 0 for as many as --vocab")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 24));
    app.add_option("--norm", raw.norm, "Normalisation")->group(group)->check(CLI::IsMember({"layer", "rms"}));
    app.add_option(
           "--activation", raw.activation, "Of the MLP; swiglu: one half of its first matrix gates the other")
        ->group(group)
        ->check(CLI::IsMember({"gelu", "swiglu"}));
    app.add_option("--mlp-hidden", config.model.mlpWidth,
           "Inner width of the MLP; 0: 4 * hidden, with swiglu 8/3 * hidden rounded up to a multiple of 64")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 24));
    app.add_option("--dropout", config.model.dropout, "Share of each residual branch that is dropped")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_option("--embedding-dropout", config.model.embeddingDropout, "Share of the embedding's output")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_option(
           "--attention-dropout", config.model.attentionDropout, "Share of the attention probabilities")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_flag("--untied", raw.untied, "Give the output projection a matrix of its own")->group(group);
    app.add_option("--recompute", raw.recompute,
           "Computed again in the backward pass instead of kept: nothing, the attention core, or each layer "
           "from its input")
        ->group(group)
        ->check(CLI::IsMember({"none", "selective", "full"}));
    app.add_option("--dtype", raw.dtype,
           "Number format; CUDA only: tf32 (fp32 with products on tensor cores) and bf16, which keeps "
           "parameters, "
           "gradients and moments in fp32 as well")
        ->group(group)
        ->check(CLI::IsMember({"fp32", "tf32", "fp64", "bf16"}));
}

void addTrainingOptions(CLI::App& app, RunConfig& config, Raw& raw) {
    const auto positive = within(std::int64_t{1}, std::int64_t{1} << 40);
    const char* group = "Training";
    app.add_option("--steps", config.steps, "Optimizer steps")->group(group)->check(positive);
    app.add_option("--micro-batch-size", config.microBatch, "Sequences of a micro-batch")
        ->group(group)
        ->check(positive);
    app.add_option("--micro-batches", config.microBatches, "Micro-batches of a step and rank")
        ->group(group)
        ->check(positive);
    app.add_option("--lr", config.optimizer.peakRate, "Highest learning rate")
        ->group(group)
        ->check(within(1e-12, 1e3));
    app.add_option("--clip", config.optimizer.clipNorm, "Largest gradient norm, 0 for no limit")
        ->group(group)
        ->check(within(0.0, 1e9));
    app.add_option("--seed", config.seed, "Seed of parameters, text and sampling")->group(group);
    app.add_option("--corpus-tokens", config.corpusTokens, "Length of the text")
        ->group(group)
        ->check(positive);
    app.add_option("--sharpness", config.sharpness, "Predictability of the text, 0 for none")
        ->group(group)
        ->check(within(0.0, 20.0));
    app.add_option("--data", config.dataFile, "Train on this file instead of the made-up language")
        ->group(group);
    app.add_option("--data-format", raw.dataFormat,
           "What --data holds: text, one token a byte; or little-endian tokens, of a vocabulary of "
           "--padded-vocab")
        ->group(group)
        ->check(CLI::IsMember({"bytes", "uint16", "int32"}));
    app.add_option("--save", config.saveFolder,
           "Write checkpoints here: at the end, and when SIGINT or SIGTERM asks to stop")
        ->group(group);
    app.add_option("--save-interval", config.saveInterval, "Also every so many steps; 0: not")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 40));
    app.add_option("--resume", config.resumeFolder,
           "Go on from the latest checkpoint of this folder, bit for bit when all other options are the same")
        ->group(group);
    app.add_option("--backend", raw.backend, "Where kernels run")
        ->group(group)
        ->check(CLI::IsMember({"host", "cuda"}));
    app.add_option("--gpu", config.gpu, "GPU of the CUDA backend; -1: each rank of a host takes the next one")
        ->group(group)
        ->check(within(-1, 1 << 10));
    app.add_option("--host-workers", config.hostWorkers,
           "0: all work runs when the host waits; 1: a worker thread for each stream")
        ->group(group)
        ->check(within(0, 1));
    app.add_option("--rendezvous", config.rendezvous, "Folder where ranks of a launcher find each other")
        ->group(group);
}

void addParallelOptions(CLI::App& app, RunConfig& config, Raw& raw) {
    const char* group = "Parallelism (one process a rank; the ranks are tp * cp * dp * pp)";
    const auto ranks = within(1, comm::kMaxShmRanks);
    app.add_option("--tp", config.parallel.tensor, "Tensor-parallel ranks: each layer's matrices are split")
        ->group(group)
        ->check(ranks);
    app.add_flag("--sequence-parallel", config.sequenceParallel,
           "Split norms, dropout and the residual stream over the --tp ranks, too")
        ->group(group);
    app.add_option("--cp", config.parallel.context, "Context-parallel ranks: each sequence is split")
        ->group(group)
        ->check(ranks);
    app.add_option("--cp-layout", raw.ringLayout, "Which part of a sequence a --cp rank holds")
        ->group(group)
        ->check(CLI::IsMember({"zigzag", "contiguous"}));
    app.add_option("--pp", config.parallel.pipeline, "Pipeline stages: the layers are split")
        ->group(group)
        ->check(ranks);
    app.add_option("--schedule", raw.schedule, "Order of the passes of a stage")
        ->group(group)
        ->check(CLI::IsMember({"1f1b", "gpipe", "interleaved", "serial"}));
    app.add_option("--virtual-stages", config.virtualStages, "Model chunks of a stage, for interleaved")
        ->group(group)
        ->check(within(1, 1024));
    app.add_option("--dp", config.parallel.data, "Data-parallel replicas")->group(group)->check(ranks);
    app.add_flag("--zero1", config.distributedOptimizer,
           "Each replica (--dp, --cp) updates its part of the parameters (ZeRO-1)")
        ->group(group);
    app.add_option(
           "--bucket-elements", config.bucketElements, "Gradients of one all-reduce over the replicas")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{1} << 40));
    app.add_option("--comm", raw.comm,
           "real: ranks talk to each other; model: this process alone does the work of rank --as-rank of the "
           "layout, and each operation only takes the time that the network model says. MODELLED runs show "
           "times, "
           "not losses")
        ->group(group)
        ->check(CLI::IsMember({"real", "model"}));
    app.add_option("--as-rank", config.asRank, "Rank whose work --comm model does")
        ->group(group)
        ->check(within(0, 1 << 20));
    app.add_option("--comm-within-node", raw.withinNode,
           "Network model, links within a node: microseconds an operation and GB/s")
        ->group(group)
        ->expected(2)
        ->check(within(0.0, 1e9));
    app.add_option("--comm-between-nodes", raw.betweenNodes, "The same for links between nodes")
        ->group(group)
        ->expected(2)
        ->check(within(0.0, 1e9));
    app.add_option("--ranks-per-node", config.network.ranksPerNode, "Network model: ranks of a node")
        ->group(group)
        ->check(within(1, 1 << 20));
    app.add_option("--shm-strict", config.strictComm,
           "1: operations that do not fit together are named at once; 0: they hang, as on a GPU")
        ->group(group);
}

void addGraphOptions(CLI::App& app, RunConfig& config, Raw& raw) {
    const char* group = "Graphs";
    app.add_option("--graph-mode", raw.mode,
           "eager: kernel by kernel; manual: capture what --graph-scope says; auto: capture each pass "
           "blindly, "
           "broken at communication")
        ->group(group)
        ->check(CLI::IsMember({"eager", "manual", "auto"}));
    app.add_option("--graph-scope", raw.scopes,
           "What one graph holds: of the passes cycle (all of a step), microbatch (one), layer, segment "
           "(between tensor-parallel collectives) or hop (of the attention ring); optimizer; or full for "
           "cycle and optimizer in one")
        ->group(group)
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::IsMember({"cycle", "microbatch", "layer", "segment", "hop", "optimizer", "full"}));
    app.add_option("--graph-key", raw.graphKey,
           "One graph of the passes for a whole step (cycle), for each set of buffers (slot) or for each "
           "micro-batch; default cycle, with graphs within a pass slot")
        ->group(group)
        ->default_str("")
        ->check(CLI::IsMember({"cycle", "slot", "microbatch"}));
    app.add_option("--tp-comm", raw.tensorComm,
           "Tensor-parallel collectives of a captured pass: inside the graph, on a forked branch of it, or "
           "outside between two graphs")
        ->group(group)
        ->check(CLI::IsMember({"inside", "fork", "outside"}));
    app.add_option("--graph-warmup", config.graphs.warmupRuns, "Eager steps before a capture")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{1} << 20));
    app.add_option(
           "--max-graphs", raw.maxGraphs, "Graphs kept at a time; default 16, with graphs within a pass 4096")
        ->group(group)
        ->default_str("")
        ->check(within(std::size_t{1}, std::size_t{4096}));
    app.add_option("--graph-cache-size", raw.graphCacheMiB,
           "Limit in MiB of the memory that graphs may hold; by default what they need. A graph whose "
           "buffers do "
           "not fit runs eagerly, in memory of its own")
        ->group(group)
        ->default_str("")
        ->check(within(0.0, 1e9));
    app.add_flag("--graph-report", config.graphReport,
           "Say for each graph which buffers it holds, and when they live")
        ->group(group);
    app.add_option("--graph-policy", raw.policy,
           "When the cache is full: fallback: newcomers run eagerly; lru: the one used longest ago goes; "
           "lfu: "
           "the one used least often")
        ->group(group)
        ->check(CLI::IsMember({"fallback", "lru", "lfu"}));
}

void addOutputOptions(CLI::App& app, RunConfig& config, Raw& raw) {
    app.add_option("--log", config.logFile, "Write one JSON object a line: each step, each change of a graph")
        ->group("Output");
    app.add_option("--log-interval", config.logInterval, "Steps between two reads of the loss")
        ->group("Output")
        ->check(within(std::int64_t{1}, optim::StepState::kHistory));
    app.add_flag("--quiet", config.quiet, "No progress lines")->group("Output");
    app.add_flag("--no-marks", raw.noMarks, "Emit no ranges and marks for tools")->group("Output");
    app.add_option("--fault", raw.faults, "ID[:PARAM][@step=N][@layer=N][@rank=N][@harmless], repeatable")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->default_str("")
        ->group("Faults");
    app.add_flag("--list-faults", raw.listFaults, "List the faults and leave")->group("Faults");
    app.add_flag("--json", raw.json, "With --list-faults: as JSON")->group("Faults");
}

bool contains(const std::vector<std::string>& words, const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

const std::map<std::string, graphs::GraphMode> kModes{{"eager", graphs::GraphMode::Eager},
    {"manual", graphs::GraphMode::Manual}, {"auto", graphs::GraphMode::Auto}};
const std::map<std::string, graphs::CachePolicy> kPolicies{{"fallback", graphs::CachePolicy::Fallback},
    {"lru", graphs::CachePolicy::Lru}, {"lfu", graphs::CachePolicy::Lfu}};
const std::map<std::string, CollectivePlacement> kPlacements{{"inside", CollectivePlacement::Inside},
    {"fork", CollectivePlacement::Fork}, {"outside", CollectivePlacement::Outside}};
const std::map<std::string, graphs::Scope> kPassScopes{{"cycle", graphs::Scope::Cycle},
    {"microbatch", graphs::Scope::Microbatch}, {"layer", graphs::Scope::Layer},
    {"segment", graphs::Scope::Segment}, {"hop", graphs::Scope::Hop}};

// Returns one sentence when the modelled network makes no sense.
std::string applyNetwork(const Raw& raw, RunConfig& config) {
    config.modelledComm = raw.comm == "model";
    config.network.withinNode = {raw.withinNode[0], raw.withinNode[1]};
    config.network.betweenNodes = {raw.betweenNodes[0], raw.betweenNodes[1]};
    if (raw.withinNode[1] <= 0 || raw.betweenNodes[1] <= 0) {
        return "--comm-within-node and --comm-between-nodes need more than 0 GB/s";
    }
    if (config.modelledComm && config.asRank >= config.parallel.world()) {
        return fmt::format(
            "--as-rank {}: the layout has {} ranks, from 0 on", config.asRank, config.parallel.world());
    }
    if (config.modelledComm && !(config.saveFolder.empty() && config.resumeFolder.empty())) {
        return "--comm model trains nothing that --save or --resume could keep: leave one of them out";
    }
    if (config.modelledComm && config.parallel.world() == 1) {
        return "--comm model stands for ranks that are not there: give --tp, --pp, --cp or --dp";
    }
    return {};
}

// What a graph is named by decides what it holds; returns one sentence when --graph-scope says otherwise.
std::string applyGraphKey(const Raw& raw, RunConfig& config) {
    config.keyByMicroBatch = raw.graphKey == "microbatch";
    if (raw.graphKey.empty() || config.graphs.mode == graphs::GraphMode::Auto) {
        return {};
    }
    const bool fine = raw.graphKey != "cycle";
    if (fine && !raw.scopeGiven) {
        config.passScope = graphs::Scope::Microbatch;
    }
    if (!config.graphCycle || graphs::withinPass(config.passScope) != fine) {
        return fmt::format("--graph-key {} goes with {}", raw.graphKey,
            fine ? "--graph-scope microbatch, layer, segment or hop" : "--graph-scope cycle");
    }
    return {};
}

// Returns one sentence when the options contradict each other.
std::string apply(const Raw& raw, RunConfig& config) {
    config.type = raw.dtype == "fp64" ? ElementType::F64
        : raw.dtype == "bf16"         ? ElementType::BF16
        : raw.dtype == "tf32"         ? ElementType::TF32
                                      : ElementType::F32;
    config.backend = raw.backend == "cuda" ? runtime::Backend::Cuda : runtime::Backend::Host;
    config.model.vocab = raw.paddedVocab > 0 ? raw.paddedVocab : config.corpusVocab;
    config.graphs.mode = kModes.at(raw.mode);
    config.graphs.policy = kPolicies.at(raw.policy);
    config.tensorComm = kPlacements.at(raw.tensorComm);
    if (raw.graphCacheMiB >= 0) {
        config.graphCacheBytes
            = static_cast<std::size_t>(raw.graphCacheMiB * static_cast<double>(std::size_t{1} << 20));
    }
    config.ringLayout
        = raw.ringLayout == "contiguous" ? parallel::RingLayout::Contiguous : parallel::RingLayout::Zigzag;
    config.schedule = pipeline::scheduleFromName(raw.schedule).value();
    config.graphFull = contains(raw.scopes, "full");
    std::vector<graphs::Scope> passScopes;
    for (const std::string& word : raw.scopes) {
        if (const auto scope = kPassScopes.find(word); scope != kPassScopes.end()) {
            passScopes.push_back(scope->second);
        }
    }
    config.graphCycle = !passScopes.empty();
    config.passScope = passScopes.empty() ? graphs::Scope::Cycle : passScopes.front();
    if (const std::string problem = applyGraphKey(raw, config); !problem.empty()) {
        return problem;
    }
    const bool fine = graphs::withinPass(config.passScope) || config.graphs.mode == graphs::GraphMode::Auto;
    config.graphs.maxGraphs = raw.maxGraphs > 0 ? raw.maxGraphs : (fine ? 4096 : 16);
    config.graphOptimizer = contains(raw.scopes, "optimizer");
    config.model.norm = raw.norm == "rms" ? model::NormKind::Rms : model::NormKind::Layer;
    config.model.activation
        = raw.activation == "swiglu" ? model::Activation::Swiglu : model::Activation::Gelu;
    config.model.recompute = raw.recompute == "full" ? model::Recompute::Full
        : raw.recompute == "selective"               ? model::Recompute::Selective
                                                     : model::Recompute::None;
    config.model.tiedHead = !raw.untied;
    config.marks = !raw.noMarks;
    config.optimizer.decaySteps = config.steps;
    config.optimizer.warmupSteps = std::min<std::int64_t>(20, std::max<std::int64_t>(1, config.steps / 5));
    config.optimizer.floorRate = config.optimizer.peakRate / 20;
    const bool cudaOnly = config.type == ElementType::BF16 || config.type == ElementType::TF32;
    if (cudaOnly && config.backend == runtime::Backend::Host) {
        return fmt::format("--dtype {} needs --backend cuda: the host computes in fp32 and fp64", raw.dtype);
    }
    const bool file = !config.dataFile.empty();
    if (file) {
        const bool bytes = raw.dataFormat == "bytes";
        config.dataFormat = bytes
            ? data::TokenFormat::Bytes
            : (raw.dataFormat == "uint16" ? data::TokenFormat::Uint16 : data::TokenFormat::Int32);
        if (!bytes && raw.paddedVocab == 0) {
            return fmt::format(
                "--data-format {} needs --padded-vocab: how many tokens there are", raw.dataFormat);
        }
        config.corpusVocab = bytes ? 256 : 2;
        config.model.vocab = raw.paddedVocab > 0 ? raw.paddedVocab : config.corpusVocab;
    }
    if (config.saveInterval > 0 && config.saveFolder.empty()) {
        return "--save-interval needs --save FOLDER";
    }
    if (config.model.vocab < config.corpusVocab) {
        return fmt::format("--padded-vocab {} is less than --vocab {}", raw.paddedVocab, config.corpusVocab);
    }
    if (raw.json && !raw.listFaults) {
        return "--json goes with --list-faults only; --log FILE writes a run as JSON lines";
    }
    if (passScopes.size() > 1) {
        return fmt::format(
            "--graph-scope takes one of cycle, microbatch, layer, segment and hop, not {} of them",
            passScopes.size());
    }
    if (config.graphFull && raw.scopes.size() > 1) {
        return "--graph-scope full contains cycle and optimizer already: give it alone";
    }
    if (!file && config.corpusTokens <= config.model.seqLen) {
        return fmt::format("--corpus-tokens {} is not longer than one sequence of {} tokens",
            config.corpusTokens, config.model.seqLen);
    }
    for (const std::string& text : raw.faults) {
        std::string problem;
        const std::optional<faults::FaultSpec> spec = faults::parseFault(text, problem);
        if (!spec) {
            return problem;
        }
        config.faults.push_back(*spec);
    }
    if (faults::isArmed(config.faults, "tp-allreduce-stripped")) {
        config.passScope = graphs::Scope::Segment;
        config.tensorComm = CollectivePlacement::Outside;
        config.graphs.maxGraphs = raw.maxGraphs > 0 ? raw.maxGraphs : 4096;
    }
    if (const std::string problem = config.model.problem(); !problem.empty()) {
        return problem;
    }
    const std::string problem = config.layoutProblem();
    return problem.empty() ? applyNetwork(raw, config) : problem;
}

std::string defaultRendezvous(const parallel::RankEnvironment& rank) {
    if (rank.jobKey.empty()) {
        return {};
    }
    const char* temporary = std::getenv("TMPDIR");
    return fmt::format(
        "{}/reference-trainer-{}-{}", temporary != nullptr ? temporary : "/tmp", ::getuid(), rank.jobKey);
}

// Ranks from the environment, or to be started; returns one sentence when they do not fit.
std::string placeRanks(Command& command, bool dpGiven) {
    RunConfig& config = command.config;
    std::string problem;
    if (config.modelledComm) {
        return {}; // one process, whatever the environment says
    }
    command.rank = parallel::readRankEnvironment([](const char* name) { return std::getenv(name); }, problem);
    const auto tooMany = [](const char* what, int ranks) {
        return fmt::format("{} {} ranks; at most {} can share a host", what, ranks, comm::kMaxShmRanks);
    };
    if (!problem.empty()) {
        return problem;
    }
    if (!command.rank) {
        const int world = config.parallel.world();
        command.startRanks = world > 1;
        return world > comm::kMaxShmRanks ? tooMany("--tp * --cp * --dp * --pp are", world) : std::string();
    }
    const int started = command.rank->worldSize;
    const int model = config.parallel.tensor * config.parallel.context * config.parallel.pipeline;
    if (!dpGiven && started % model == 0) {
        config.parallel.data = started / model;
    }
    if (config.parallel.world() != started) {
        return fmt::format(
            "--tp {} --cp {} --pp {} --dp {} are {} ranks, but {} says that the launcher started {}",
            config.parallel.tensor, config.parallel.context, config.parallel.pipeline, config.parallel.data,
            config.parallel.world(), command.rank->source, started);
    }
    if (started > comm::kMaxShmRanks) {
        return tooMany("the launcher started", started);
    }
    config.localRank = command.rank->localRank;
    if (config.rendezvous.empty()) {
        config.rendezvous = defaultRendezvous(*command.rank);
    }
    if (config.rendezvous.empty()) {
        return fmt::format(
            "--rendezvous FOLDER is needed: {} is set, but nothing in the environment names the job",
            command.rank->source);
    }
    return {};
}

int reject(const std::string& sentence) {
    fmt::print(stderr, "reference-trainer: {}\n", sentence);
    return 2;
}

} // namespace

std::optional<Command> parseCommandLine(int argc, char** argv, int& status) {
    Command command;
    Raw raw;
    CLI::App app(kDescription, "reference-trainer");
    app.footer(kExamples);
    app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    addModelOptions(app, command.config, raw);
    addTrainingOptions(app, command.config, raw);
    addParallelOptions(app, command.config, raw);
    addGraphOptions(app, command.config, raw);
    addOutputOptions(app, command.config, raw);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        status = 0;
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        status = reject(error.what());
        return std::nullopt;
    }
    raw.scopeGiven = app.count("--graph-scope") > 0;
    std::string problem = apply(raw, command.config);
    if (problem.empty() && raw.listFaults) {
        fmt::print("{}", faults::listFaults(raw.json));
        status = 0;
        return std::nullopt;
    }
    if (problem.empty()) {
        problem = placeRanks(command, app.count("--dp") > 0);
    }
    if (problem.empty()) {
        const RunConfig& c = command.config;
        problem = faults::FaultInjector(c.faults).problem({c.steps, c.model.layers, c.parallel.world(),
            c.parallel.data * c.parallel.context, c.model.seqLen, c.graphs.mode != graphs::GraphMode::Eager,
            c.parallel.tensor, c.parallel.context, c.parallel.pipeline, c.microBatches,
            c.parallel.context > 1 || c.sequenceParallel});
    }
    if (problem.empty()) {
        problem = command.config.faultProblem();
    }
    if (!problem.empty()) {
        status = reject(problem);
        return std::nullopt;
    }
    return command;
}

} // namespace gdt::train
