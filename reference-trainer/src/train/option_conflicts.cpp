// SPDX-License-Identifier: Apache-2.0
#include "train/option_conflicts.h"

#include "faults/fault.h"

#include <algorithm>

namespace gdt::train {

namespace {

using graphs::GraphMode;
using parallel::RingLayout;
using pipeline::ScheduleKind;

bool holds(const std::vector<std::string>& words, const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool capturesWithinPass(const RawOptions& raw) {
    return holds(raw.scopes, "microbatch") || holds(raw.scopes, "layer") || holds(raw.scopes, "segment")
        || holds(raw.scopes, "hop");
}

bool replicated(const RunConfig& c) {
    return c.parallel.data * c.parallel.context > 1;
}

bool eager(const RawOptions&, const RunConfig& c) {
    return c.graphs.mode == GraphMode::Eager;
}

bool blind(const RawOptions&, const RunConfig& c) {
    return c.graphs.mode == GraphMode::Auto;
}

bool notModelled(const RawOptions&, const RunConfig& c) {
    return !c.modelledComm;
}

bool modelled(const RawOptions&, const RunConfig& c) {
    return c.modelledComm;
}

bool noTensor(const RawOptions&, const RunConfig& c) {
    return c.parallel.tensor == 1;
}

bool fromFile(const RawOptions&, const RunConfig& c) {
    return !c.dataFile.empty();
}

// An option that was given has no effect while `idle`; `because` goes on after its name.
struct Rule {
    const char* option;
    bool (*idle)(const RawOptions&, const RunConfig&);
    const char* because;
};

constexpr const char* kEager = "has no effect with --graph-mode eager";
constexpr const char* kAuto = "has no effect with --graph-mode auto, which finds by itself what to capture";
constexpr const char* kNoName = "is followed by an empty name";
constexpr const char* kReal = "goes with --comm model only";
constexpr const char* kFile = "describes the made-up language, and --data has a text of its own";

constexpr Rule kRules[] = {
    {"--graph-scope", eager, kEager},
    {"--graph-key", eager, kEager},
    {"--graph-warmup", eager, kEager},
    {"--max-graphs", eager, kEager},
    {"--graph-cache-size", eager, kEager},
    {"--graph-report", eager, kEager},
    {"--graph-policy", eager, kEager},
    {"--guard", eager, kEager},
    {"--guard", blind, kAuto},
    {"--graph-warmup", blind, kAuto},
    {"--graph-scope",
        [](const RawOptions& raw, const RunConfig& c) { return blind(raw, c) && capturesWithinPass(raw); },
        "microbatch, layer, segment or hop has no effect with --graph-mode auto, which cuts passes by "
        "itself"},
    {"--graph-key",
        [](const RawOptions& raw, const RunConfig& c) {
            return blind(raw, c) && (raw.graphKey == "cycle" || !c.graphCycle);
        },
        "has no effect with --graph-mode auto unless passes are captured, one for each slot or microbatch"},
    {"--graph-warmup", [](const RawOptions&, const RunConfig& c) { return c.graphs.warmupRuns >= c.steps; },
        "leaves no step to capture: there are no more --steps"},
    {"--tp-comm",
        [](const RawOptions& raw, const RunConfig& c) { return blind(raw, c) && raw.tensorComm == "fork"; },
        "fork has no effect with --graph-mode auto, which leaves communication out of its graphs"},
    {"--tp-comm",
        [](const RawOptions& raw, const RunConfig& c) {
            return noTensor(raw, c) && raw.tensorComm != "inside";
        },
        "places the tensor-parallel collectives, and without --tp 2 or more there are none"},
    {"--graph-scope",
        [](const RawOptions& raw, const RunConfig& c) {
            return noTensor(raw, c) && holds(raw.scopes, "segment");
        },
        "segment cuts passes at tensor-parallel collectives, and without --tp 2 or more there are none"},
    {"--sequence-parallel", noTensor, "splits over the ranks of --tp: it needs --tp 2 or more"},
    {"--cp-layout",
        [](const RawOptions&, const RunConfig& c) {
            return c.parallel.context == 1 && c.ringLayout != RingLayout::Zigzag;
        },
        "says which part of a sequence a rank of --cp holds: it needs --cp 2 or more"},
    {"--schedule",
        [](const RawOptions&, const RunConfig& c) {
            return c.parallel.pipeline == 1 && c.schedule == ScheduleKind::Serial;
        },
        "serial is 1f1b where there is one stage: it needs --pp 2 or more"},
    {"--zero1", [](const RawOptions&, const RunConfig& c) { return !replicated(c); },
        "splits the optimizer over replicas: it needs --dp 2 or --cp 2 or more"},
    {"--bucket-elements", [](const RawOptions&, const RunConfig& c) { return !replicated(c); },
        "is for the sums over replicas: it needs --dp 2 or --cp 2 or more"},
    {"--shm-strict",
        [](const RawOptions&, const RunConfig& c) { return c.parallel.world() == 1 && !c.strictComm; },
        "is for several ranks: it needs --tp, --pp, --cp or --dp"},
    {"--comm-timeout", [](const RawOptions&, const RunConfig& c) { return c.parallel.world() == 1; },
        "is for several ranks: it needs --tp, --pp, --cp or --dp"},
    {"--comm-timeout", modelled, "has no effect with --comm model, where no rank waits for another"},
    {"--shm-strict", modelled, "has no effect with --comm model, where no rank talks to another"},
    {"--shm-strict",
        [](const RawOptions&, const RunConfig& c) { return c.backend == runtime::Backend::Cuda; },
        "has no effect with --backend cuda, whose ranks talk through NCCL"},
    {"--rendezvous", modelled, "has no effect with --comm model, where no rank looks for another"},
    {"--gpu", [](const RawOptions&, const RunConfig& c) { return c.backend == runtime::Backend::Host; },
        "has no effect with --backend host"},
    {"--host-workers",
        [](const RawOptions&, const RunConfig& c) { return c.backend == runtime::Backend::Cuda; },
        "has no effect with --backend cuda"},
    {"--as-rank", notModelled, kReal},
    {"--comm-within-node", notModelled, kReal},
    {"--comm-between-nodes", notModelled, kReal},
    {"--ranks-per-node", notModelled, kReal},
    {"--comm-between-nodes",
        [](const RawOptions&, const RunConfig& c) { return c.parallel.world() <= c.network.ranksPerNode; },
        "has no effect: all ranks of the layout are on one node of --ranks-per-node"},
    {"--comm-within-node", [](const RawOptions&, const RunConfig& c) { return c.network.ranksPerNode == 1; },
        "has no effect with --ranks-per-node 1, where every rank is on a node of its own"},
    {"--vocab", fromFile, kFile},
    {"--corpus-tokens", fromFile, kFile},
    {"--sharpness", fromFile, kFile},
    {"--data", [](const RawOptions&, const RunConfig& c) { return c.dataFile.empty(); }, kNoName},
    {"--save", [](const RawOptions&, const RunConfig& c) { return c.saveFolder.empty(); }, kNoName},
    {"--resume", [](const RawOptions&, const RunConfig& c) { return c.resumeFolder.empty(); }, kNoName},
    {"--log", [](const RawOptions&, const RunConfig& c) { return c.logFile.empty(); }, kNoName},
    {"--data-format", [](const RawOptions& raw, const RunConfig& c) { return !fromFile(raw, c); },
        "says what --data holds, and there is no --data"},
};

// What a fault chooses itself, whether or not it is harmless.
struct Choice {
    const char* fault;
    const char* option;
    bool (*against)(const RawOptions&);
    const char* because;
};

bool wholeCycles(const RawOptions& raw) {
    return !capturesWithinPass(raw);
}

bool strictGuard(const RawOptions& raw) {
    return raw.guard == "strict";
}

bool always(const RawOptions&) {
    return true;
}

constexpr const char* kWhyPassByPass
    = "happens between the graphs of a pass: it needs --graph-scope microbatch or smaller";
constexpr const char* kWhyUnguarded
    = "never happens with --guard strict, which gives each shape a graph of its own";

constexpr Choice kChoices[] = {
    {"pp-single-microbatch-capture", "--graph-scope", wholeCycles, kWhyPassByPass},
    {"shared-graph-exec", "--graph-scope", wholeCycles, kWhyPassByPass},
    {"capture-order", "--graph-scope", wholeCycles, kWhyPassByPass},
    {"recompute-free", "--graph-scope", wholeCycles, kWhyPassByPass},
    {"ring-whole-dynamic", "--graph-scope", wholeCycles, kWhyPassByPass},
    {"capture-order", "--graph-key", [](const RawOptions& raw) { return raw.graphKey != "microbatch"; },
        "needs --graph-key microbatch, which it chooses itself"},
    {"tp-allreduce-stripped", "--graph-scope",
        [](const RawOptions& raw) { return !holds(raw.scopes, "segment"); },
        "is --graph-scope segment, which it chooses itself"},
    {"tp-allreduce-stripped", "--tp-comm", [](const RawOptions& raw) { return raw.tensorComm != "outside"; },
        "is --tp-comm outside, which it chooses itself"},
    {"tp-dynamic-shape", "--guard", strictGuard, kWhyUnguarded},
    {"host-control-flow", "--guard", strictGuard, kWhyUnguarded},
    {"attention-dynamic-dispatch", "--guard", strictGuard, kWhyUnguarded},
    {"dp-cross-node", "--ranks-per-node", always, "chooses --ranks-per-node itself: leave it out"},
    {"dp-cross-node", "--comm-between-nodes", always,
        "says what --comm-between-nodes says: give its GB/s after a colon"},
};

} // namespace

std::string idleOption(const IsGiven& given, const RawOptions& raw, const RunConfig& config) {
    for (const Rule& rule : kRules) {
        if (given(rule.option) && rule.idle(raw, config)) {
            return std::string(rule.option) + " " + rule.because;
        }
    }
    return {};
}

std::string optionAgainstFault(const IsGiven& given, const RawOptions& raw, const RunConfig& config) {
    for (const Choice& choice : kChoices) {
        if (faults::isArmed(config.faults, choice.fault) && given(choice.option) && choice.against(raw)) {
            return std::string("--fault ") + choice.fault + " " + choice.because;
        }
    }
    return {};
}

} // namespace gdt::train
