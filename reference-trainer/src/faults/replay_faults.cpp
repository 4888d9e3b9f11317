// SPDX-License-Identifier: Apache-2.0
// Graphs that are replayed at the wrong time, in the wrong order, or for inputs of another shape than the
// captured ones. The shape faults need --guard none, which they imply (train/fault_setup.cpp).
#include "faults/fault.h"
#include "faults/fault_site.h"

#include <algorithm>

namespace gdt::faults {

using graphs::Scope;
using runtime::Status;

namespace {

// The gradients are cleared by the host's own call after the optimizer step, which one step replays twice
// before that: the same gradients count twice. Harmless: once.
class ReplayBeforeZero final : public Fault {
public:
    using Fault::Fault;

    bool clearsGradients() override { return false; }

    [[gnu::noinline]] std::optional<Status> launch(
        Scope scope, runtime::GraphExec& exec, runtime::Stream& stream) override {
        const std::int64_t when = spec().step.value_or(env().warmupRuns + 2);
        if (harmless() || scope != Scope::Optimizer || step() != when) {
            return std::nullopt;
        }
        // Either is the place: a recording may know only one of two launches in a function.
        const Status first = GDT_FAULT_SITE("replay-before-zero-grad", "cuGraphLaunch", exec.launch(stream));
        if (!runtime::ok(first)) {
            return first;
        }
        const Status second
            = GDT_FAULT_SITE("replay-before-zero-grad", "cuGraphLaunch again", exec.launch(stream));
        return second;
    }

    Status endStep() override {
        return env().compute.stream().memsetAsync(env().gradients, 0, env().gradientBytes);
    }
};

// One set of buffers serves the micro-batches because each backward pass was captured before the next forward
// pass; from some step on the forward passes are all replayed first and overwrite each other. Harmless: the
// order stays.
class OtherOrder final : public Fault {
public:
    using Fault::Fault;

    bool forwardsFirst() override { return !harmless() && started(env().warmupRuns + 2); }
};

// The last batch of three has fewer tokens. Harmless: it is padded.
class ShorterBatch final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    std::optional<std::int64_t> seqLen() override {
        const auto fewer
            = static_cast<std::int64_t>(spec().param.value_or(static_cast<double>(env().seqLen / 2)));
        const bool shorter = !harmless() && step() % 3 == 2;
        return env().seqLen - (shorter ? fewer : 0);
    }
};

// Batches come with other lengths, one of them too long, and the host cuts that one with an if. The graph has
// one branch and one length. Harmless: every batch is cut or padded to the same length.
class HostControlFlow final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    std::optional<std::int64_t> seqLen() override {
        const std::int64_t most = env().seqLen;
        const std::int64_t length = most + 1 - step() % 5 * std::max<std::int64_t>(1, most / 8);
        if (harmless() || length > most) {
            return most;
        }
        return length;
    }
};

// The attention's kernel is chosen by the present length. The graph keeps the choice of its capture, and an
// update of the executable with the other choice is refused. Harmless: one kernel for all lengths; the update
// changes arguments only.
class DynamicDispatch final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    std::optional<std::int64_t> seqLen() override { return env().seqLen / (1 + step() % 2); }

    bool shortAttention(std::int64_t seqLen) override { return !harmless() && seqLen <= env().seqLen / 2; }

    bool updates(Scope scope) override { return scope != Scope::Optimizer && step() == captureStep() + 1; }
};

} // namespace

std::unique_ptr<Fault> makeReplayBeforeZero(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<ReplayBeforeZero>(spec, environment);
}

std::unique_ptr<Fault> makeOtherOrder(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<OtherOrder>(spec, environment);
}

std::unique_ptr<Fault> makeShorterBatch(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<ShorterBatch>(spec, environment);
}

std::unique_ptr<Fault> makeHostControlFlow(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostControlFlow>(spec, environment);
}

std::unique_ptr<Fault> makeDynamicDispatch(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<DynamicDispatch>(spec, environment);
}

} // namespace gdt::faults
