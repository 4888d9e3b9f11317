// SPDX-License-Identifier: Apache-2.0
// Faults that cost time only: waits, delays and graphs that cannot be reused.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/rng.h"
#include "runtime/range.h"

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
    static constexpr double kMostDelaySeconds = 5.0;
    static constexpr double kUnknownStepSeconds = 5e-3;

    void delay() const {
        if (kernels::randomUniform(1, kStream, static_cast<std::uint64_t>(step())) >= 0.3) {
            return;
        }
        const double pace = env().secondsPerStep > 0 ? env().secondsPerStep : kUnknownStepSeconds;
        const double wanted = std::min(spec().param.value_or(12.0) * pace, kMostDelaySeconds);
        const double seconds = harmless() ? kHarmlessSeconds : wanted;
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
        const std::int64_t buckets = harmless()
            ? std::clamp<std::int64_t>(env().maxGraphs / 2, 1, most)
            : static_cast<std::int64_t>(spec().param.value_or(static_cast<double>(env().maxGraphs + 4)));
        return env().seqLen - step() % buckets;
    }
};

// The loader needs longer for a batch than the device for a step, so its copy comes late. Harmless: the batch
// has been loaded ahead.
class SlowLoader final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        void* memory = nullptr;
        GDT_TRY(env().device.allocateHost(&memory, kBatchBytes));
        m_batch = memory;
        GDT_TRY(runtime::Event::create(env().device, m_stepStart));
        GDT_TRY(runtime::Event::create(env().device, m_stepEnd));
        return env().pool.allocate(&m_onDevice, kBatchBytes);
    }

    [[gnu::noinline]] Status beginStep() override {
        if (!here() || !started(0)) {
            return Status::Success;
        }
        if (!harmless()) {
            GDT_TRY(measure());
            const runtime::Range range("dataloader");
            const double pace = m_stepSeconds > 0 ? m_stepSeconds : kUnknownStepSeconds;
            const double steps = spec().param.value_or(kSlowSteps);
            std::this_thread::sleep_for(std::chrono::duration<double>(std::min(steps * pace, kMostSeconds)));
        }
        GDT_TRY(GDT_FAULT_SITE("slow-dataloader", "cuMemcpyHtoDAsync",
            env().compute.stream().memcpyAsync(
                m_onDevice, m_batch, kBatchBytes, runtime::CopyKind::HostToDevice)));
        if (harmless() || m_timing == Timing::Ended) {
            return Status::Success;
        }
        m_timing = Timing::Started;
        return env().compute.stream().record(m_stepStart);
    }

    Status endStep() override {
        if (m_timing != Timing::Started) {
            return Status::Success;
        }
        m_timing = Timing::Ended;
        return env().compute.stream().record(m_stepEnd);
    }

private:
    enum class Timing { None, Started, Ended };

    // What the device needs for a step. The pace of the run will not do: it has the waits for batches in it.
    Status measure() {
        if (m_timing != Timing::Ended) {
            return Status::Success;
        }
        const Status done = m_stepEnd.query();
        if (done != Status::Success) {
            return done == Status::NotReady ? Status::Success : done;
        }
        std::int64_t ns = 0;
        GDT_TRY(runtime::Event::elapsedNs(m_stepStart, m_stepEnd, &ns));
        const double seconds = 1e-9 * static_cast<double>(ns);
        m_stepSeconds = m_stepSeconds > 0 ? std::min(m_stepSeconds, seconds) : seconds;
        m_timing = Timing::None;
        return Status::Success;
    }

    static constexpr std::size_t kBatchBytes = 4096;
    static constexpr double kSlowSteps = 120.0 / 28.0;
    static constexpr double kMostSeconds = 1.0;
    static constexpr double kUnknownStepSeconds = 5e-3;

    void* m_batch = nullptr; // page-locked, lives as long as the process
    void* m_onDevice = nullptr;
    runtime::Event m_stepStart, m_stepEnd;
    Timing m_timing = Timing::None;
    double m_stepSeconds = 0; // of the fastest step so far, 0 before the first
};

// A graph for each pass of a micro-batch, and between them the host waits until the neighbour's message is
// there. Harmless: the stream waits, not the host.
class BlockingReceive final : public Fault {
public:
    using Fault::Fault;

    [[gnu::noinline]] Status afterReceive(runtime::Stream& stream) override {
        if (harmless() || !started(0) || stream.capturing()) {
            return Status::Success;
        }
        GDT_TRY(GDT_FAULT_SITE("pp-single-microbatch-capture", "cuStreamSynchronize", stream.synchronize()));
        return Status::Success;
    }
};

} // namespace

std::unique_ptr<Fault> makeSlowLoader(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<SlowLoader>(spec, environment);
}

std::unique_ptr<Fault> makeBlockingReceive(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<BlockingReceive>(spec, environment);
}

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
