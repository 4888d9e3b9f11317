// SPDX-License-Identifier: Apache-2.0
// Single calls that a capture does not bear: on the wrong stream or thread, or of the wrong kind.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/elementwise.h"
#include "model/pass.h"

#include <thread>
#include <vector>

namespace gdt::faults {

using graphs::Scope;
using runtime::CaptureMode;
using runtime::Status;

namespace {

constexpr std::int64_t kCount = 4096;

class CaptureCallFault : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }
};

// A layer's statistics run on a stream that was made without cudaStreamNonBlocking, and a library in between
// uses the legacy default stream, which would have to wait for the captured work. Harmless: the library gets
// the stream.
class DefaultStreamInCapture final : public CaptureCallFault {
public:
    using CaptureCallFault::CaptureCallFault;

    Status open() override {
        GDT_TRY(runtime::Stream::create(env().device, m_blocking, runtime::StreamFlags::Default));
        GDT_TRY(runtime::Event::create(env().device, m_fork, runtime::EventFlags::DisableTiming));
        GDT_TRY(runtime::Event::create(env().device, m_join, runtime::EventFlags::DisableTiming));
        return model::take(env().pool, &m_values, kCount);
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        GDT_TRY(stream.record(m_fork));
        GDT_TRY(m_blocking.wait(m_fork));
        runtime::Stream& used = harmless() ? m_blocking : env().device.defaultStream();
        GDT_TRY(GDT_FAULT_SITE("capture-default-stream", "cuLaunchKernel",
            used.launch<kernels::ResidualAdd<float>>(
                model::gridFor(kCount), {m_values, m_values, m_values, kCount})));
        GDT_TRY(m_blocking.record(m_join));
        return stream.wait(m_join);
    }

private:
    runtime::Stream m_blocking;
    runtime::Event m_fork, m_join;
    float* m_values = nullptr;
};

// Several threads believe that the capture of this stage is theirs: another one ends it. Harmless: it asks
// first.
class ForeignEnd final : public CaptureCallFault {
public:
    using CaptureCallFault::CaptureCallFault;

    bool endsCapture(Scope scope, Status issued) override {
        if (scope == Scope::Optimizer || m_happened || !runtime::ok(issued)) {
            return true;
        }
        m_happened = true;
        std::thread other([this] { endFromElsewhere(); });
        other.join();
        return true;
    }

private:
    [[gnu::noinline]] void endFromElsewhere() {
        runtime::Stream& stream = env().compute.stream();
        if (harmless()) {
            runtime::CaptureInfo info;
            static_cast<void>(stream.captureInfo(&info));
            return;
        }
        runtime::Graph stolen;
        static_cast<void>(
            GDT_FAULT_SITE("capture-on-all-ranks", "cuStreamEndCapture", stream.endCapture(stolen)));
    }

    bool m_happened = false;
};

// A graph of earlier goes out of scope while another is captured, and a global capture forbids that.
// Harmless: it went before.
class DestroyInCapture final : public CaptureCallFault {
public:
    using CaptureCallFault::CaptureCallFault;

    Status open() override {
        GDT_TRY(model::take(env().pool, &m_values, kCount));
        GDT_TRY(runtime::Stream::create(env().device, m_stream, runtime::StreamFlags::NonBlocking));
        runtime::Graph graph;
        GDT_TRY(m_stream.beginCapture(CaptureMode::ThreadLocal));
        GDT_TRY(m_stream.memsetAsync(m_values, 0, kCount * sizeof(float)));
        GDT_TRY(m_stream.endCapture(graph));
        return graph.instantiate(m_old);
    }

    std::optional<CaptureMode> captureMode(Scope) override { return CaptureMode::Global; }

    Status beginStep() override { return harmless() && m_old.valid() ? m_old.destroy() : Status::Success; }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (harmless() || !m_old.valid() || !stream.capturing()) {
            return Status::Success;
        }
        GDT_TRY(GDT_FAULT_SITE("gc-destroy-in-capture", "cuGraphExecDestroy", m_old.destroy()));
        return Status::Success;
    }

private:
    runtime::Stream m_stream;
    runtime::GraphExec m_old;
    float* m_values = nullptr;
};

// The layer's input comes from ordinary host memory by a copy that the host waits for, while a stream made
// without cudaStreamNonBlocking is part of the capture. Harmless: page-locked memory and an asynchronous
// copy, which becomes a node.
class PageableCopyInCapture final : public CaptureCallFault {
public:
    using CaptureCallFault::CaptureCallFault;

    Status open() override {
        void* memory = nullptr;
        GDT_TRY(env().device.allocateHost(&memory, kCount * sizeof(float)));
        m_pinned = static_cast<float*>(memory);
        std::fill(m_pinned, m_pinned + kCount, 0.0F);
        GDT_TRY(runtime::Stream::create(env().device, m_blocking, runtime::StreamFlags::Default));
        GDT_TRY(runtime::Event::create(env().device, m_fork, runtime::EventFlags::DisableTiming));
        GDT_TRY(runtime::Event::create(env().device, m_join, runtime::EventFlags::DisableTiming));
        return model::take(env().pool, &m_values, kCount);
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        constexpr std::size_t kBytes = kCount * sizeof(float);
        GDT_TRY(stream.record(m_fork));
        GDT_TRY(m_blocking.wait(m_fork));
        if (harmless()) {
            GDT_TRY(m_blocking.memcpyAsync(m_values, m_pinned, kBytes, runtime::CopyKind::HostToDevice));
        } else {
            GDT_TRY(GDT_FAULT_SITE("h2d-pending", "cuMemcpyHtoD",
                env().device.copy(m_values, m_pageable.data(), kBytes, runtime::CopyKind::HostToDevice)));
        }
        GDT_TRY(m_blocking.record(m_join));
        return stream.wait(m_join);
    }

private:
    runtime::Stream m_blocking;
    runtime::Event m_fork, m_join;
    std::vector<float> m_pageable = std::vector<float>(kCount);
    float* m_pinned = nullptr; // lives as long as the process
    float* m_values = nullptr;
};

} // namespace

std::unique_ptr<Fault> makeDefaultStreamInCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<DefaultStreamInCapture>(spec, environment);
}

std::unique_ptr<Fault> makeForeignEnd(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<ForeignEnd>(spec, environment);
}

std::unique_ptr<Fault> makeDestroyInCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<DestroyInCapture>(spec, environment);
}

std::unique_ptr<Fault> makePageableCopyInCapture(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<PageableCopyInCapture>(spec, environment);
}

} // namespace gdt::faults
