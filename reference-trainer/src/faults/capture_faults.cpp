// SPDX-License-Identifier: Apache-2.0
// Faults that act while a graph is captured.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/elementwise.h"
#include "model/pass.h"

#include <cmath>
#include <utility>

namespace gdt::faults {

using graphs::Scope;
using runtime::CaptureMode;
using runtime::Status;

namespace {

// The loss is wanted on the host in the middle of the forward pass. Run eagerly this is merely slow; inside a
// capture the synchronise fails and invalidates it. Harmless: a relaxed capture, and the wait is for another,
// idle stream.
class ItemInCapture : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        GDT_TRY(runtime::Stream::create(env().device, m_idle, runtime::StreamFlags::NonBlocking));
        void* memory = nullptr;
        GDT_TRY(env().device.allocateHost(&memory, sizeof(double)));
        m_loss = static_cast<double*>(memory);
        return Status::Success;
    }

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    std::optional<CaptureMode> captureMode(Scope) override {
        return harmless() ? std::optional(CaptureMode::Relaxed) : std::nullopt;
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (harmless()) {
            return m_idle.synchronize();
        }
        GDT_TRY(
            stream.memcpyAsync(m_loss, &env().state->loss, sizeof(double), runtime::CopyKind::DeviceToHost));
        GDT_TRY(GDT_FAULT_SITE(spec().id.c_str(), "cuStreamSynchronize", stream.synchronize()));
        return std::isfinite(*m_loss) ? Status::Success : Status::LaunchFailed;
    }

private:
    runtime::Stream m_idle;
    double* m_loss = nullptr; // page-locked, lives as long as the process
};

// The same, but nobody catches the failure: the capture is neither ended nor tried again, the run ends.
class NoFallback final : public ItemInCapture {
public:
    using ItemInCapture::ItemInCapture;

    bool endsCapture(Scope, Status issued) override { return harmless() || runtime::ok(issued); }
    bool fallsBack(Scope) override { return harmless(); }
};

// A side stream joins the capture through an event and works for a layer's statistics; the wait that would
// bring it back is missing. Harmless: it is there.
class UnjoinedFork final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        GDT_TRY(runtime::Stream::create(env().device, m_side, runtime::StreamFlags::NonBlocking));
        GDT_TRY(runtime::Event::create(env().device, m_fork, runtime::EventFlags::DisableTiming));
        GDT_TRY(runtime::Event::create(env().device, m_join, runtime::EventFlags::DisableTiming));
        return model::take(env().pool, &m_values, kCount);
    }

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        GDT_TRY(GDT_FAULT_SITE("unjoined-fork", "cuEventRecord", stream.record(m_fork)));
        GDT_TRY(GDT_FAULT_SITE("unjoined-fork", "cuStreamWaitEvent", m_side.wait(m_fork)));
        GDT_TRY(GDT_FAULT_SITE("unjoined-fork", "cuLaunchKernel",
            m_side.launch<kernels::ResidualAdd<float>>(
                model::gridFor(kCount), {m_values, m_values, m_values, kCount})));
        if (!harmless()) {
            return Status::Success;
        }
        GDT_TRY(m_side.record(m_join));
        return stream.wait(m_join);
    }

private:
    static constexpr std::int64_t kCount = 4096;

    runtime::Stream m_side;
    runtime::Event m_fork, m_join;
    float* m_values = nullptr;
};

// A check in the middle of the captured region fails and the caller returns without ending the capture.
// Harmless: the same early return, but the capture is ended and a second one started.
class AbandonedCapture final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    [[gnu::noinline]] std::optional<Status> beginCapture(
        Scope scope, runtime::Stream& stream, CaptureMode mode) override {
        if (scope == Scope::Optimizer || m_happened) {
            return std::nullopt;
        }
        if (harmless()) {
            m_happened = true;
            return beginAfterCleanUp(stream, mode);
        }
        const Status begun
            = GDT_FAULT_SITE("abandoned-capture", "cuStreamBeginCapture", stream.beginCapture(mode));
        return begun;
    }

    Status inForward(runtime::Stream& stream) override {
        if (harmless() || m_happened || !stream.capturing()) {
            return Status::Success;
        }
        m_happened = true;
        m_leaving = true;
        return Status::IllegalState;
    }

    bool endsCapture(Scope, Status) override { return !std::exchange(m_leaving, false); }

private:
    static Status beginAfterCleanUp(runtime::Stream& stream, CaptureMode mode) {
        runtime::Graph unused;
        GDT_TRY(stream.beginCapture(mode));
        GDT_TRY(stream.endCapture(unused));
        return stream.beginCapture(mode);
    }

    bool m_happened = false;
    bool m_leaving = false;
};

// The gradient all-reduce is put on a stream of its own "so that it stays out of the graph". Nothing connects
// that stream to the capture, so the collective runs once, at capture time, and no replay ever reduces. Eager
// steps are right: there the two streams are ordered by events. Harmless: ordered by events inside the
// capture, too.
class UnjoinedAllReduce final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        GDT_TRY(runtime::Stream::create(env().device, m_side, runtime::StreamFlags::NonBlocking));
        GDT_TRY(runtime::Event::create(env().device, m_ready, runtime::EventFlags::DisableTiming));
        return runtime::Event::create(env().device, m_done, runtime::EventFlags::DisableTiming);
    }

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    [[gnu::noinline]] std::optional<Status> reduceGradients(
        const parallel::GradientReduction& reduction, runtime::Stream& stream) override {
        return reduce(reduction, stream);
    }

private:
    Status reduce(const parallel::GradientReduction& reduction, runtime::Stream& stream) {
        const bool ordered = harmless() || !stream.capturing();
        if (ordered) {
            GDT_TRY(stream.record(m_ready));
            GDT_TRY(m_side.wait(m_ready));
            GDT_TRY(issueReduction(reduction));
            GDT_TRY(m_side.record(m_done));
            return stream.wait(m_done);
        }
        return issueReduction(reduction);
    }

    [[gnu::noinline]] Status issueReduction(const parallel::GradientReduction& r) {
        comm::Communicator& c = *r.replicas;
        constexpr auto kSum = comm::ReduceOp::Sum;
        GDT_TRY(r.issueWithinReplica(m_side));
        GDT_TRY(GDT_FAULT_SITE("tp-allreduce-unjoined", "all-reduce",
            c.allReduce(r.gradients, r.gradients, static_cast<std::size_t>(r.count), r.type, kSum, m_side)));
        return r.issueLoss(m_side);
    }

    runtime::Stream m_side;
    runtime::Event m_ready, m_done;
};

} // namespace

std::unique_ptr<Fault> makeItemInCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<ItemInCapture>(spec, environment);
}

std::unique_ptr<Fault> makeNoFallback(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<NoFallback>(spec, environment);
}

std::unique_ptr<Fault> makeUnjoinedFork(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<UnjoinedFork>(spec, environment);
}

std::unique_ptr<Fault> makeAbandonedCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<AbandonedCapture>(spec, environment);
}

std::unique_ptr<Fault> makeUnjoinedAllReduce(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<UnjoinedAllReduce>(spec, environment);
}

} // namespace gdt::faults
