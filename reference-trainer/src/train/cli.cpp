// SPDX-License-Identifier: Apache-2.0
#include "train/cli.h"

#include "comm/shm_communicator.h"
#include "faults/fault_injector.h"
#include "train/cli_options.h"
#include "train/fault_setup.h"
#include "train/option_conflicts.h"
#include "train/size_problem.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
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

bool contains(const std::vector<std::string>& words, const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

const std::map<std::string, ElementType> kTypes{{"fp32", ElementType::F32}, {"fp64", ElementType::F64},
    {"bf16", ElementType::BF16}, {"tf32", ElementType::TF32}, {"fp16", ElementType::F16},
    {"fp8", ElementType::FP8}};
const std::map<std::string, graphs::GraphMode> kModes{{"eager", graphs::GraphMode::Eager},
    {"manual", graphs::GraphMode::Manual}, {"auto", graphs::GraphMode::Auto}};
const std::map<std::string, graphs::CachePolicy> kPolicies{{"fallback", graphs::CachePolicy::Fallback},
    {"lru", graphs::CachePolicy::Lru}, {"lfu", graphs::CachePolicy::Lfu}};
const std::map<std::string, graphs::Guard> kGuards{
    {"strict", graphs::Guard::Strict}, {"megatron", graphs::Guard::Refuse}, {"none", graphs::Guard::None}};
const std::map<std::string, CollectivePlacement> kPlacements{{"inside", CollectivePlacement::Inside},
    {"fork", CollectivePlacement::Fork}, {"outside", CollectivePlacement::Outside}};
const std::map<std::string, graphs::Scope> kPassScopes{{"cycle", graphs::Scope::Cycle},
    {"microbatch", graphs::Scope::Microbatch}, {"layer", graphs::Scope::Layer},
    {"segment", graphs::Scope::Segment}, {"hop", graphs::Scope::Hop}};

// What a graph is named by decides what it holds; returns one sentence when --graph-scope says otherwise.
std::string applyGraphKey(const RawOptions& raw, RunConfig& config) {
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

void applyModel(const RawOptions& raw, RunConfig& config) {
    config.model.norm = raw.norm == "rms" ? model::NormKind::Rms : model::NormKind::Layer;
    config.model.activation
        = raw.activation == "swiglu" ? model::Activation::Swiglu : model::Activation::Gelu;
    config.model.recompute = raw.recompute == "full" ? model::Recompute::Full
        : raw.recompute == "selective"               ? model::Recompute::Selective
                                                     : model::Recompute::None;
    config.model.tiedHead = !raw.untied;
    config.type = kTypes.at(raw.dtype);
    if (config.type == ElementType::F16) {
        config.optimizer.lossScale = raw.lossScale;
        config.optimizer.scaleWindow = raw.scaleWindow;
    }
}

// What is captured, by --graph-scope.
std::vector<graphs::Scope> applyScopes(const RawOptions& raw, RunConfig& config) {
    std::vector<graphs::Scope> passScopes;
    for (const std::string& word : raw.scopes) {
        if (const auto scope = kPassScopes.find(word); scope != kPassScopes.end()) {
            passScopes.push_back(scope->second);
        }
    }
    config.graphFull = contains(raw.scopes, "full");
    config.graphOptimizer = contains(raw.scopes, "optimizer");
    config.graphCycle = !passScopes.empty();
    config.passScope = passScopes.empty() ? graphs::Scope::Cycle : passScopes.front();
    return passScopes;
}

void applyRun(const RawOptions& raw, RunConfig& config) {
    config.backend = raw.backend == "cuda" ? runtime::Backend::Cuda : runtime::Backend::Host;
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
    config.marks = !raw.noMarks;
    config.optimizer.decaySteps = config.steps;
    config.optimizer.warmupSteps = std::min<std::int64_t>(20, std::max<std::int64_t>(1, config.steps / 5));
    config.optimizer.floorRate = config.optimizer.peakRate / 20;
}

// Text and vocabulary; returns one sentence when they do not fit.
std::string applyData(const RawOptions& raw, RunConfig& config) {
    if (!config.dataFile.empty()) {
        const bool bytes = raw.dataFormat == "bytes";
        config.dataFormat = bytes
            ? data::TokenFormat::Bytes
            : (raw.dataFormat == "uint16" ? data::TokenFormat::Uint16 : data::TokenFormat::Int32);
        if (!bytes && raw.paddedVocab == 0) {
            return fmt::format(
                "--data-format {} needs --padded-vocab: how many tokens there are", raw.dataFormat);
        }
        config.corpusVocab = bytes ? 256 : 2;
    }
    config.model.vocab = raw.paddedVocab > 0 ? raw.paddedVocab : config.corpusVocab;
    return {};
}

// One sentence on options that contradict each other; empty when none do.
std::string contradiction(
    const RawOptions& raw, const RunConfig& config, const std::vector<graphs::Scope>& passScopes) {
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
    if (config.dataFile.empty() && config.corpusTokens <= config.model.seqLen) {
        return fmt::format("--corpus-tokens {} is not longer than one sequence of {} tokens",
            config.corpusTokens, config.model.seqLen);
    }
    return {};
}

std::string typeProblem(const RawOptions& raw, const RunConfig& config) {
    if (raw.lossScaleGiven && config.type != ElementType::F16) {
        return "--loss-scale and --loss-scale-window go with --dtype fp16 only";
    }
    if (config.type == ElementType::TF32 && config.backend == runtime::Backend::Host) {
        return "--dtype tf32 needs --backend cuda: it is a way in which tensor cores multiply";
    }
    return {};
}

// Returns one sentence when a fault cannot be read.
std::string applyFaults(const RawOptions& raw, RunConfig& config) {
    for (const std::string& text : raw.faults) {
        std::string problem;
        const std::optional<faults::FaultSpec> spec = faults::parseFault(text, problem);
        if (!spec) {
            return problem;
        }
        config.faults.push_back(*spec);
    }
    if (!raw.guard.empty()) {
        config.graphs.guard = kGuards.at(raw.guard);
    }
    setUpFaults(config, {raw.maxGraphs == 0, raw.guard.empty()});
    return {};
}

// Returns one sentence when the options contradict each other.
std::string apply(const RawOptions& raw, RunConfig& config) {
    applyModel(raw, config);
    applyRun(raw, config);
    const std::vector<graphs::Scope> passScopes = applyScopes(raw, config);
    std::string problem = applyGraphKey(raw, config);
    const bool fine = graphs::withinPass(config.passScope) || config.graphs.mode == graphs::GraphMode::Auto;
    config.graphs.maxGraphs = raw.maxGraphs > 0 ? raw.maxGraphs : (fine ? 4096 : 16);
    const auto next = [&](auto&& step) {
        if (problem.empty()) {
            problem = step();
        }
    };
    next([&] { return typeProblem(raw, config); });
    next([&] { return applyData(raw, config); });
    next([&] { return contradiction(raw, config, passScopes); });
    next([&] { return applyFaults(raw, config); });
    next([&] { return config.model.problem(); });
    next([&] { return config.layoutProblem(); });
    next([&] { return raw.emulation.apply(config); });
    if (problem.empty()) {
        setUpNetwork(config);
        setUpEnvironment(config);
    }
    return problem;
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
std::string placeRanks(Command& command, const IsGiven& given) {
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
        if (given("--rendezvous")) {
            return "--rendezvous is where ranks of a launcher meet, and no variable of the environment says "
                   "that "
                   "this is one";
        }
        return world > comm::kMaxShmRanks ? tooMany("--tp * --cp * --dp * --pp are", world) : std::string();
    }
    const int started = command.rank->worldSize;
    const int model = config.parallel.tensor * config.parallel.context * config.parallel.pipeline;
    if (!given("--dp") && started % model == 0) {
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

// One sentence when options contradict each other, or the sizes they give are not possible.
std::string problemOf(const CLI::App& app, const RawOptions& raw, Command& command) {
    const RunConfig& config = command.config;
    const IsGiven given = [&](std::string_view option) { return app.count(std::string(option)) > 0; };
    const std::function<std::string()> checks[]
        = {[&] { return placeRanks(command, given); }, [&] { return optionAgainstFault(given, raw, config); },
            [&] { return idleOption(given, raw, config); },
            [&] { return sizeProblem(config, machineSizes(config.backend)); },
            [&] { return faults::FaultInjector(config.faults).problem(shapeOf(config)); },
            [&] { return config.faultProblem(); }};
    std::string problem;
    for (const auto& check : checks) {
        problem = problem.empty() ? check() : problem;
    }
    return problem;
}

int reject(const std::string& sentence) {
    fmt::print(stderr, "reference-trainer: {}\n", sentence);
    return 2;
}

} // namespace

std::optional<Command> parseCommandLine(int argc, char** argv, int& status) {
    Command command;
    RawOptions raw;
    CLI::App app(kDescription, "reference-trainer");
    app.footer(kExamples);
    app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    addOptions(app, command.config, raw);
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
    raw.lossScaleGiven = app.count("--loss-scale") + app.count("--loss-scale-window") > 0;
    std::string problem = apply(raw, command.config);
    if (problem.empty() && raw.listFaults) {
        fmt::print("{}", faults::listFaults(raw.json));
        status = 0;
        return std::nullopt;
    }
    if (problem.empty()) {
        problem = problemOf(app, raw, command);
    }
    if (!problem.empty()) {
        status = reject(problem);
        return std::nullopt;
    }
    command.config.agreement = agreementOf(app);
    return command;
}

} // namespace gdt::train
