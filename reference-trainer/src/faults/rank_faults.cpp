// SPDX-License-Identifier: Apache-2.0
// Faults between ranks. Those that only order or place communication in another way act where it is queued
// (parallel/context_group.cpp, parallel/tensor_group.cpp, train/cycle_region.cpp), as the trainer was set up.
#include "faults/fault.h"
#include "faults/fault_site.h"

namespace gdt::faults {

using graphs::Scope;
using runtime::Status;

namespace {

// The stage waits for its neighbour's data through an event that another stream recorded before the capture
// began: that would make the graph depend on work outside it. Eager steps are right. Harmless: an external
// wait, which becomes a node that waits at every replay.
class EventOutsideCapture final : public Fault {
public:
    using Fault::Fault;

    Status open() override {
        GDT_TRY(runtime::Stream::create(env().device, m_neighbour, runtime::StreamFlags::NonBlocking));
        return runtime::Event::create(env().device, m_arrived, runtime::EventFlags::DisableTiming);
    }

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    Status beginStep() override { return m_neighbour.record(m_arrived); }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (harmless() && stream.capturing()) {
            return stream.wait(m_arrived, runtime::WaitFlags::External);
        }
        GDT_TRY(GDT_FAULT_SITE("pp-event-outside-capture", "cuStreamWaitEvent", stream.wait(m_arrived)));
        return Status::Success;
    }

private:
    runtime::Stream m_neighbour;
    runtime::Event m_arrived;
};

// One rank leaves out the capture, says nothing of it and goes on eagerly, while the others replay: their
// collectives are then captured on some ranks and not on others. Harmless: it captures.
class DivergentCapture final : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }

    bool staysEager(Scope scope) override {
        const bool meant = spec().rank ? here() : env().rank == 1;
        return !harmless() && meant && scope != Scope::Optimizer;
    }
};

// A communicator is given up in the middle of the run, as a watchdog does after a time-out: everything that
// it does, replays included, fails from then on. Harmless: the watchdog only asks.
class CommunicatorAbort final : public Fault {
public:
    using Fault::Fault;

    [[gnu::noinline]] Status betweenReplays(runtime::Stream&) override {
        const std::int64_t last = env().replicas->size() - 1;
        const bool meant = spec().rank ? here() : env().replicas->rank() == last;
        if (!meant || m_happened || !started(env().warmupRuns + 2)) {
            return Status::Success;
        }
        m_happened = true;
        if (harmless()) {
            return env().replicas->error().empty() ? Status::Success : Status::LaunchFailed;
        }
        GDT_FAULT_SITE("nccl-abort", "commAbort", env().replicas->abort());
        return Status::Success;
    }

private:
    bool m_happened = false;
};

// A table on the host says who is next in the ring, and it changes: every second step the ring runs the other
// way round. The graphs hold the hops of one direction, and the tokens come for the other. Harmless: it
// stays.
class TurningRing final : public Fault {
public:
    using Fault::Fault;

    bool turnsRing() override { return !harmless() && started(0) && step() % 2 == 1; }
};

} // namespace

std::unique_ptr<Fault> makeTurningRing(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<TurningRing>(spec, environment);
}

std::unique_ptr<Fault> makeCommunicatorAbort(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<CommunicatorAbort>(spec, environment);
}

bool isArmed(const std::vector<FaultSpec>& specs, const char* id) {
    for (const FaultSpec& spec : specs) {
        if (spec.id == id && !spec.harmless) {
            return true;
        }
    }
    return false;
}

std::unique_ptr<Fault> makeEventOutsideCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<EventOutsideCapture>(spec, environment);
}

std::unique_ptr<Fault> makeDivergentCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<DivergentCapture>(spec, environment);
}

} // namespace gdt::faults
