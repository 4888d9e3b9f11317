// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_injector.h"

#include "faults/fault_site.h"

#include <utility>

namespace gdt::faults {

using runtime::Status;

namespace {

struct Factory {
    const char* id;
    FaultFactory make;
};

constexpr Factory kFactories[] = {
    {"item-in-capture", makeItemInCapture},
    {"no-warmup-optimizer", makeNoWarmupOptimizer},
    {"sync-in-graph-region", makeSyncInGraphRegion},
    {"record-stream", makeRecordStream},
    {"activation-realloc", makeActivationRealloc},
    {"graph-cache-overflow", makeGraphCacheOverflow},
    {"tp-allreduce-unjoined", makeUnjoinedAllReduce},
    {"replay-jitter", makeReplayJitter},
    {"unjoined-fork", makeUnjoinedFork},
    {"abandoned-capture", makeAbandonedCapture},
    {"pp-event-outside-capture", makeEventOutsideCapture},
    {"rank-divergent-capture", makeDivergentCapture},
    {"tp-allreduce-stripped", makeSetUpFault},
    {"pp-unfused-p2p", makeSetUpFault},
    {"ring-send-recv-order", makeSetUpFault},
};

std::string beyond(const FaultSpec& spec, const char* what, std::int64_t value, std::int64_t count) {
    return "--fault " + spec.id + "@" + what + "=" + std::to_string(value) + " never happens: the run has "
        + std::to_string(count) + " " + what + (count == 1 ? "" : "s") + ", counted from 0";
}

} // namespace

FaultInjector::FaultInjector(std::vector<FaultSpec> specs)
    : m_specs(std::move(specs)) { }

std::string FaultInjector::problem(const RunShape& run) const {
    for (const FaultSpec& spec : m_specs) {
        if (spec.step.value_or(0) >= run.steps) {
            return beyond(spec, "step", *spec.step, run.steps);
        }
        if (spec.layer.value_or(0) >= run.layers) {
            return beyond(spec, "layer", *spec.layer, run.layers);
        }
        if (spec.rank.value_or(0) >= run.ranks) {
            return beyond(spec, "rank", *spec.rank, run.ranks);
        }
        if (findFault(spec.id)->needsGraphs && !run.graphs) {
            return "--fault " + spec.id + " needs graphs to go wrong: leave out --graph-mode eager";
        }
        if (spec.id == "tp-allreduce-unjoined" && run.replicas < 2) {
            return "--fault tp-allreduce-unjoined needs an all-reduce to misplace: use --dp 2 or more";
        }
        if (spec.id == "graph-cache-overflow" && run.splitsSequences) {
            return "--fault graph-cache-overflow changes the sequence length, which --cp and "
                   "--sequence-parallel split evenly: leave them out";
        }
        if (spec.id == "rank-divergent-capture" && run.ranks < 2) {
            return "--fault rank-divergent-capture needs ranks that differ: use --dp 2 or more";
        }
        if (spec.id == "tp-allreduce-stripped" && run.tensor < 2) {
            return "--fault tp-allreduce-stripped needs tensor-parallel collectives: use --tp 2 or more";
        }
        if (spec.id == "pp-unfused-p2p" && (run.stages < 2 || run.microBatches < 2)) {
            return "--fault pp-unfused-p2p needs messages in both directions at a time: use --pp 2 or more "
                   "and "
                   "--micro-batches 2 or more";
        }
        if (spec.id == "ring-send-recv-order" && run.context < 2) {
            return "--fault ring-send-recv-order needs a ring: use --cp 2 or more";
        }
        if (spec.id == "graph-cache-overflow" && run.seqLen < 8) {
            return "--fault graph-cache-overflow needs --seq-len 8 or more to have lengths to choose from";
        }
    }
    return {};
}

Status FaultInjector::open(FaultEnvironment& environment) {
    for (const FaultSpec& spec : m_specs) {
        for (const Factory& factory : kFactories) {
            if (spec.id == factory.id) {
                m_faults.push_back(factory.make(spec, environment));
                if (!spec.harmless && m_faults.back()->here()) {
                    watchSite(factory.id);
                }
                GDT_TRY(m_faults.back()->open());
            }
        }
    }
    return Status::Success;
}

Status FaultInjector::beginStep(std::int64_t step) {
    for (const auto& fault : m_faults) {
        fault->setStep(step);
        GDT_TRY(fault->beginStep());
    }
    return Status::Success;
}

Status FaultInjector::endStep() {
    for (const auto& fault : m_faults) {
        if (fault->here()) {
            GDT_TRY(fault->endStep());
        }
    }
    return Status::Success;
}

std::int64_t FaultInjector::seqLen(std::int64_t configured) {
    for (const auto& fault : m_faults) {
        configured = fault->seqLen().value_or(configured);
    }
    return configured;
}

Status FaultInjector::reduceGradients(const parallel::GradientReduction& reduction, runtime::Stream& stream) {
    for (const auto& fault : m_faults) {
        if (const auto done = fault->reduceGradients(reduction, stream)) {
            return *done;
        }
    }
    return reduction.issue(stream);
}

Status FaultInjector::inForward(std::int64_t layer, runtime::Stream& stream) {
    for (const auto& fault : m_faults) {
        if (fault->inLayer(layer)) {
            GDT_TRY(fault->inForward(stream));
        }
    }
    return Status::Success;
}

Status FaultInjector::betweenReplays(std::int64_t layer, runtime::Stream& stream) {
    for (const auto& fault : m_faults) {
        if (fault->inLayer(layer)) {
            GDT_TRY(fault->betweenReplays(stream));
        }
    }
    return Status::Success;
}

std::int64_t FaultInjector::warmupRuns(graphs::Scope scope, std::int64_t configured) {
    for (const auto& fault : m_faults) {
        configured = fault->warmupRuns(scope).value_or(configured);
    }
    return configured;
}

runtime::CaptureMode FaultInjector::captureMode(graphs::Scope scope, runtime::CaptureMode configured) {
    for (const auto& fault : m_faults) {
        configured = fault->captureMode(scope).value_or(configured);
    }
    return configured;
}

Status FaultInjector::beginCapture(graphs::Scope scope, runtime::Stream& stream, runtime::CaptureMode mode) {
    for (const auto& fault : m_faults) {
        if (fault->here()) {
            if (const auto begun = fault->beginCapture(scope, stream, mode)) {
                return *begun;
            }
        }
    }
    return CaptureHooks::beginCapture(scope, stream, mode);
}

bool FaultInjector::endsCapture(graphs::Scope scope, Status issued) {
    bool ends = true;
    for (const auto& fault : m_faults) {
        ends = (!fault->here() || fault->endsCapture(scope, issued)) && ends;
    }
    return ends;
}

bool FaultInjector::staysEager(graphs::Scope scope) {
    bool eager = false;
    for (const auto& fault : m_faults) {
        eager = eager || fault->staysEager(scope);
    }
    return eager;
}

Status FaultInjector::launch(graphs::Scope scope, runtime::GraphExec& exec, runtime::Stream& stream) {
    for (const auto& fault : m_faults) {
        if (fault->here()) {
            if (const auto launched = fault->launch(scope, exec, stream)) {
                return *launched;
            }
        }
    }
    return CaptureHooks::launch(scope, exec, stream);
}

} // namespace gdt::faults
