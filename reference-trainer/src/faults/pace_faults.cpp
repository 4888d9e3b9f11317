// SPDX-License-Identifier: Apache-2.0
// Faults that cost time only: waits, delays and graphs that cannot be reused.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/rng.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace gdt::faults {

using graphs::Scope;
using runtime::Status;

namespace {

// The host waits for the device after the gradients of every step are there, looks at them, and only then
// launches the optimizer, with nothing queued meanwhile. Harmless: once, after the last replay of the run.
class SyncInGraphRegion final : public Fault {
public:
    using Fault::Fault;

    [[gnu::noinline]] Status betweenReplays(runtime::Stream&) override {
        if (harmless() || !started(0)) {
            return Status::Success;
        }
        GDT_TRY(GDT_FAULT_SITE("sync-in-graph-region", "cuCtxSynchronize", env().device.synchronize()));
        inspect();
        return Status::Success;
    }

    Status endStep() override {
        return harmless() && step() + 1 == env().steps ? env().device.synchronize() : Status::Success;
    }

private:
    // Busy, not asleep: looking at numbers takes processor time.
    void inspect() const {
        const auto wait = std::chrono::microseconds(static_cast<std::int64_t>(spec().param.value_or(2000)));
        const auto until = std::chrono::steady_clock::now() + wait;
        while (std::chrono::steady_clock::now() < until) { }
    }
};

// Something on the host (a garbage collector, a noisy neighbour) holds up three launches in ten. A delay
// lasts several steps, so that the work queued ahead runs out. Harmless: so brief that the queue hides it.
class ReplayJitter final : public Fault {
public:
    using Fault::Fault;

    [[gnu::noinline]] std::optional<Status> launch(
        Scope scope, runtime::GraphExec& exec, runtime::Stream& stream) override {
        if (scope == Scope::Optimizer) {
            return std::nullopt;
        }
        if (started(0)) {
            delay();
        }
        const Status launched = GDT_FAULT_SITE("replay-jitter", "cuGraphLaunch", exec.launch(stream));
        return launched;
    }

private:
    static constexpr std::uint64_t kStream = 0x6a6974746572;
    static constexpr double kHarmlessSeconds = 2e-4;
    static constexpr double kUnknownStepSeconds = 5e-3;

    void delay() const {
        if (kernels::randomUniform(1, kStream, static_cast<std::uint64_t>(step())) >= 0.3) {
            return;
        }
        const double pace = env().secondsPerStep > 0 ? env().secondsPerStep : kUnknownStepSeconds;
        const double seconds = harmless() ? kHarmlessSeconds : spec().param.value_or(12.0) * pace;
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
};

// Sequence lengths come in more buckets than the cache holds graphs, one after another. Harmless: half as
// many as fit.
class GraphCacheOverflow final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> seqLen() override {
        if (!started(0)) {
            return std::nullopt;
        }
        const std::int64_t most = std::max<std::int64_t>(1, env().seqLen / 2);
        const std::int64_t wanted = harmless()
            ? std::max<std::int64_t>(1, env().maxGraphs / 2)
            : static_cast<std::int64_t>(spec().param.value_or(static_cast<double>(env().maxGraphs + 4)));
        const std::int64_t buckets = std::clamp<std::int64_t>(wanted, 1, most);
        return env().seqLen - step() % buckets;
    }
};

} // namespace

std::unique_ptr<Fault> makeSyncInGraphRegion(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<SyncInGraphRegion>(spec, environment);
}

std::unique_ptr<Fault> makeReplayJitter(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<ReplayJitter>(spec, environment);
}

std::unique_ptr<Fault> makeGraphCacheOverflow(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<GraphCacheOverflow>(spec, environment);
}

} // namespace gdt::faults
