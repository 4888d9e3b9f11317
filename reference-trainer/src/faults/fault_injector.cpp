// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_injector.h"

#include "faults/fault_site.h"

#include <utility>

namespace gdt::faults {

using runtime::Status;

FaultInjector::FaultInjector(std::vector<FaultSpec> specs)
    : m_specs(std::move(specs)) { }

Status FaultInjector::open(FaultEnvironment& environment) {
    for (const FaultSpec& spec : m_specs) {
        const FaultFactory factory = findFactory(spec.id);
        m_faults.push_back((factory != nullptr ? factory : makeFault<Fault>)(spec, environment));
        if (!spec.harmless && m_faults.back()->here()) {
            watchSite(spec.id.c_str());
        }
        GDT_TRY(m_faults.back()->open());
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

template <class... Arguments>
Status FaultInjector::each(
    Status (Fault::*place)(Arguments...), std::optional<std::int64_t> layer, Arguments... arguments) {
    for (const auto& fault : m_faults) {
        if (layer ? fault->inLayer(*layer) : fault->here()) {
            GDT_TRY((fault.get()->*place)(arguments...));
        }
    }
    return Status::Success;
}

Status FaultInjector::inForward(std::int64_t layer, runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::inForward, layer, stream);
}

Status FaultInjector::inBackward(std::int64_t layer, runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::inBackward, layer, stream);
}

Status FaultInjector::betweenReplays(std::int64_t layer, runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::betweenReplays, layer, stream);
}

Status FaultInjector::scoresMemory(std::int64_t layer, std::size_t bytes, void** memory) {
    *memory = nullptr;
    return each<std::size_t, void**>(&Fault::scoresMemory, layer, bytes, memory);
}

Status FaultInjector::afterForwardPass(runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::afterForwardPass, std::nullopt, stream);
}

Status FaultInjector::afterReceive(runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::afterReceive, std::nullopt, stream);
}

Status FaultInjector::afterSchedule(runtime::Stream& stream) {
    return each<runtime::Stream&>(&Fault::afterSchedule, std::nullopt, stream);
}

bool FaultInjector::forwardsFirst() {
    bool first = false;
    for (const auto& fault : m_faults) {
        first = first || fault->forwardsFirst();
    }
    return first;
}

bool FaultInjector::turnsRing() {
    bool turns = false;
    for (const auto& fault : m_faults) {
        turns = turns || fault->turnsRing();
    }
    return turns;
}

double FaultInjector::normEpsilon(std::int64_t layer, double configured) {
    for (const auto& fault : m_faults) {
        if (fault->inLayer(layer)) {
            configured = fault->normEpsilon(configured).value_or(configured);
        }
    }
    return configured;
}

model::DropoutSource FaultInjector::dropoutSource(
    std::int64_t layer, const model::DropoutSource& configured) {
    model::DropoutSource source = configured;
    for (const auto& fault : m_faults) {
        if (fault->inLayer(layer)) {
            source = fault->dropoutSource(source).value_or(source);
        }
    }
    return source;
}

bool FaultInjector::shortAttention(std::int64_t layer, std::int64_t seqLen) {
    bool isShort = false;
    for (const auto& fault : m_faults) {
        isShort = isShort || (fault->inLayer(layer) && fault->shortAttention(seqLen));
    }
    return isShort;
}

double FaultInjector::clipNorm(double configured) {
    for (const auto& fault : m_faults) {
        configured = fault->here() ? fault->clipNorm(configured).value_or(configured) : configured;
    }
    return configured;
}

bool FaultInjector::clearsGradients() {
    bool clears = true;
    for (const auto& fault : m_faults) {
        clears = clears && (!fault->here() || fault->clearsGradients());
    }
    return clears;
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

bool FaultInjector::fallsBack(graphs::Scope scope) {
    bool falls = true;
    for (const auto& fault : m_faults) {
        falls = falls && (!fault->here() || fault->fallsBack(scope));
    }
    return falls;
}

bool FaultInjector::recaptures(graphs::Scope scope) {
    bool again = false;
    for (const auto& fault : m_faults) {
        again = again || fault->recaptures(scope);
    }
    return again;
}

bool FaultInjector::updates(graphs::Scope scope) {
    bool wanted = false;
    for (const auto& fault : m_faults) {
        wanted = wanted || fault->updates(scope);
    }
    return wanted;
}

void FaultInjector::discard(graphs::Scope scope, runtime::GraphExec& exec) {
    bool taken = false;
    for (const auto& fault : m_faults) {
        taken = taken || (fault->here() && fault->discard(scope, exec));
    }
    if (!taken) {
        CaptureHooks::discard(scope, exec);
    }
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
