// SPDX-License-Identifier: Apache-2.0
// Faults of memory: allocated, released or moved at the wrong time.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/elementwise.h"
#include "model/pass.h"

#include <utility>
#include <vector>

namespace gdt::faults {

using graphs::Scope;
using runtime::CaptureMode;
using runtime::Status;

namespace {

// The optimizer's first step is the captured one, so its lazy allocation falls into the capture. With @step=N
// the moments are dropped before step N, as after a restart. Harmless: a relaxed capture, which permits it.
class NoWarmupOptimizer final : public Fault {
public:
    using Fault::Fault;

    Status beginStep() override {
        const std::int64_t first = spec().step.value_or(0);
        if (step() != first) {
            return Status::Success;
        }
        return here() ? env().releaseOptimizerState() : env().ensureOptimizerState();
    }

    std::optional<std::int64_t> warmupRuns(Scope scope) override {
        return scope == Scope::Cycle ? std::nullopt : std::optional(spec().step.value_or(0));
    }

    std::optional<CaptureMode> captureMode(Scope) override {
        return harmless() ? std::optional(CaptureMode::Relaxed) : std::nullopt;
    }
};

// A layer keeps statistics in a buffer that the graph writes to. After the capture the buffer goes back to
// the device, which hands the same address to somebody else; every replay now writes into foreign memory.
// Harmless: the buffer stays until the end of the run.
class RecordStream final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        void* memory = nullptr;
        GDT_TRY(GDT_FAULT_SITE("record-stream", "cuMemAlloc", env().device.allocate(&memory, kBytes)));
        GDT_TRY(env().device.fill(memory, 0, kBytes));
        m_buffer = static_cast<float*>(memory);
        return Status::Success;
    }

    Status inForward(runtime::Stream& stream) override {
        if (stream.capturing()) {
            m_capturedAt = step();
        }
        return stream.launch<kernels::ResidualAdd<float>>(
            model::gridFor(kCount), {m_buffer, m_buffer, m_buffer, kCount});
    }

    [[gnu::noinline]] Status betweenReplays(runtime::Stream&) override {
        // Two replays later at the earliest, so that the graph was seen to work before.
        const bool due = m_capturedAt >= 0 && step() >= m_capturedAt + 2 && started(0);
        if (harmless() || m_released || !due) {
            return Status::Success;
        }
        m_released = true;
        GDT_TRY(GDT_FAULT_SITE("record-stream", "cuMemFree", env().device.release(m_buffer)));
        return env().device.allocate(&m_newOwner, kBytes);
    }

private:
    static constexpr std::int64_t kCount = 16384;
    static constexpr std::size_t kBytes = kCount * sizeof(float);

    float* m_buffer = nullptr;
    void* m_newOwner = nullptr;
    std::int64_t m_capturedAt = -1;
    bool m_released = false;
};

// Every fifth step takes a large block from the device, stream-ordered and therefore without any wait, and
// gives it back at its end, where the pool was meant to serve it. Harmless: the pool serves it, which is no
// call to the device at all.
class ActivationRealloc final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        m_bytes = wantedBytes();
        return harmless() ? runtime::GraphPool::create(env().device, m_bytes, m_pool) : Status::Success;
    }

    [[gnu::noinline]] Status betweenReplays(runtime::Stream& stream) override {
        if (!started(10) || step() % 5 != 0) {
            return Status::Success;
        }
        if (harmless()) {
            return m_pool.allocate(&m_block, m_bytes);
        }
        m_bytes = wantedBytes();
        GDT_TRY(
            GDT_FAULT_SITE("activation-realloc", "cuMemAllocAsync", stream.allocateAsync(&m_block, m_bytes)));
        return stream.memsetAsync(m_block, 0, m_bytes);
    }

    [[gnu::noinline]] Status endStep() override {
        if (m_block == nullptr) {
            return Status::Success;
        }
        void* block = std::exchange(m_block, nullptr);
        return harmless() ? m_pool.release(block) : env().compute.stream().releaseAsync(block);
    }

private:
    [[nodiscard]] std::size_t wantedBytes() const {
        const double share = spec().param.value_or(40.0) / 100.0;
        return static_cast<std::size_t>(
            share * static_cast<double>(env().allocatedBytes + env().device.ownBytes()));
    }

    runtime::GraphPool m_pool;
    std::size_t m_bytes = 0;
    void* m_block = nullptr;
};

// A layer's activation is given up after the forward pass and computed again for the backward pass, outside
// the graphs and at another address; the captured backward pass reads the old one. Harmless: it is kept.
class RecomputeFree final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        GDT_TRY(model::take(env().pool, &m_sum, kCount));
        GDT_TRY(env().device.fill(m_sum, 0, kBytes));
        return env().device.allocate(&m_activation, kBytes);
    }

    Status inForward(runtime::Stream& stream) override {
        m_captured = m_captured || stream.capturing();
        return stream.memsetAsync(m_activation, 0, kBytes);
    }

    Status inBackward(runtime::Stream& stream) override {
        const auto* activation = static_cast<const float*>(m_activation);
        return stream.launch<kernels::ResidualAdd<float>>(
            model::gridFor(kCount), {activation, m_sum, m_sum, kCount});
    }

    [[gnu::noinline]] Status afterForwardPass(runtime::Stream& stream) override {
        // Two replays later at the earliest, so that the graphs were seen to work before.
        if (harmless() || !m_captured || m_recomputed || step() < captureStep() + 3) {
            return Status::Success;
        }
        m_recomputed = true;
        GDT_TRY(GDT_FAULT_SITE("recompute-free", "cuMemFree", env().device.release(m_activation)));
        GDT_TRY(env().device.allocate(&m_newOwner, kBytes));
        GDT_TRY(env().device.allocate(&m_activation, kBytes));
        return stream.memsetAsync(m_activation, 0, kBytes);
    }

private:
    static constexpr std::int64_t kCount = 16384;
    static constexpr std::size_t kBytes = kCount * sizeof(float);

    void* m_activation = nullptr;
    void* m_newOwner = nullptr;
    float* m_sum = nullptr;
    bool m_captured = false;
    bool m_recomputed = false;
};

// Every second step is captured again, into a buffer of its own; what was captured before, executable and
// buffer, stays. Harmless: once, into the buffer that is there, and the executable before goes.
class GraphLeak final : public Fault {
public:
    using Fault::Fault;

    bool recaptures(Scope scope) override {
        const std::int64_t first = spec().step.value_or(env().warmupRuns + 1);
        const bool due = harmless() ? step() == first : step() >= first && (step() - first) % 2 == 0;
        return scope != Scope::Optimizer && due;
    }

    [[gnu::noinline]] std::optional<Status> beginCapture(
        Scope scope, runtime::Stream&, CaptureMode) override {
        if (scope == Scope::Optimizer || (harmless() && m_buffer != nullptr)) {
            return std::nullopt;
        }
        const Status allocated
            = GDT_FAULT_SITE("graph-leak", "cuMemAlloc", env().device.allocate(&m_buffer, bytes()));
        return runtime::ok(allocated) ? std::nullopt : std::optional(allocated);
    }

    Status inForward(runtime::Stream& stream) override {
        return stream.capturing() && m_buffer != nullptr ? stream.memsetAsync(m_buffer, 0, kUsedBytes)
                                                         : Status::Success;
    }

    bool discard(Scope scope, runtime::GraphExec& exec) override {
        if (scope == Scope::Optimizer || harmless()) {
            return false;
        }
        m_kept.push_back(std::move(exec));
        return true;
    }

private:
    static constexpr std::size_t kUsedBytes = 4096;

    [[nodiscard]] std::size_t bytes() const {
        return static_cast<std::size_t>(spec().param.value_or(2.0) * 1048576.0) + kUsedBytes;
    }

    void* m_buffer = nullptr; // of the graph captured last
    std::vector<runtime::GraphExec> m_kept;
};

} // namespace

std::unique_ptr<Fault> makeRecomputeFree(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<RecomputeFree>(spec, environment);
}

std::unique_ptr<Fault> makeGraphLeak(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<GraphLeak>(spec, environment);
}

std::unique_ptr<Fault> makeNoWarmupOptimizer(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<NoWarmupOptimizer>(spec, environment);
}

std::unique_ptr<Fault> makeRecordStream(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<RecordStream>(spec, environment);
}

std::unique_ptr<Fault> makeActivationRealloc(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<ActivationRealloc>(spec, environment);
}

} // namespace gdt::faults
