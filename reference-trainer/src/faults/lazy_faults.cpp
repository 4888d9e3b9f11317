// SPDX-License-Identifier: Apache-2.0
// Memory that is taken when it is first needed, and first needed inside a capture.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/elementwise.h"
#include "model/pass.h"

#include <algorithm>
#include <vector>

namespace gdt::faults {

using graphs::Scope;
using runtime::CopyKind;
using runtime::Status;

namespace {

constexpr std::int64_t kLazyCount = 16384;
constexpr std::size_t kLazyBytes = kLazyCount * sizeof(float);

class LazyFault : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope scope) override { return captureAtStep(scope); }
};

// A layer saves an activation from some step on, which no step before needed, and takes the buffer for it
// from the device. Harmless: it was taken before the first step.
class NoWarmupBuffers final : public LazyFault {
public:
    using LazyFault::LazyFault;

    Status open() override {
        return harmless() ? env().device.allocate(&m_buffer, kLazyBytes) : Status::Success;
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (step() < captureStep()) {
            return Status::Success;
        }
        if (m_buffer == nullptr) {
            GDT_TRY(GDT_FAULT_SITE(
                "no-warmup-buffers", "cuMemAlloc", env().device.allocate(&m_buffer, kLazyBytes)));
        }
        return stream.memsetAsync(m_buffer, 0, kLazyBytes);
    }

private:
    void* m_buffer = nullptr;
};

// An attention that keeps its scores: the memory for them grows with the longest sequence so far, and the
// longest comes when the step is captured. Harmless: the memory is for the longest from the start.
class UnfusedAttention final : public LazyFault {
public:
    using LazyFault::LazyFault;

    std::optional<std::int64_t> seqLen() override {
        return step() < captureStep() ? env().seqLen / 2 : env().seqLen;
    }

    [[gnu::noinline]] Status scoresMemory(std::size_t bytes, void** memory) override {
        const std::size_t factor = harmless() && step() < captureStep() ? 4 : 1; // of half the length
        if (m_bytes < bytes * factor) {
            GDT_TRY(env().device.release(m_scores));
            m_scores = nullptr;
            m_bytes = bytes * factor;
            GDT_TRY(GDT_FAULT_SITE(
                "nonflash-attention", "cuMemAlloc", env().device.allocate(&m_scores, m_bytes)));
        }
        *memory = m_scores;
        return Status::Success;
    }

private:
    void* m_scores = nullptr;
    std::size_t m_bytes = 0;
};

// A layer's parameters lie on the host; each pass brings them to the device and forgets them again. Harmless:
// they are brought once.
class OffloadedParameter final : public LazyFault {
public:
    using LazyFault::LazyFault;

    Status open() override {
        GDT_TRY(model::take(env().pool, &m_sum, kLazyCount));
        GDT_TRY(env().device.fill(m_sum, 0, kLazyBytes));
        return harmless() ? bring() : Status::Success;
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (!harmless()) {
            GDT_TRY(bring());
        }
        const auto* parameter = static_cast<const float*>(m_parameter);
        GDT_TRY(stream.launch<kernels::ResidualAdd<float>>(
            model::gridFor(kLazyCount), {parameter, m_sum, m_sum, kLazyCount}));
        return harmless() ? Status::Success : forget();
    }

private:
    [[gnu::noinline]] Status bring() {
        GDT_TRY(
            GDT_FAULT_SITE("zero3-offload", "cuMemAlloc", env().device.allocate(&m_parameter, kLazyBytes)));
        return env().device.copy(m_parameter, m_onHost.data(), kLazyBytes, CopyKind::HostToDevice);
    }
    Status forget() {
        GDT_TRY(env().device.release(m_parameter));
        m_parameter = nullptr;
        return Status::Success;
    }

    std::vector<float> m_onHost = std::vector<float>(kLazyCount, 1e-3F);
    void* m_parameter = nullptr;
    float* m_sum = nullptr;
};

} // namespace

std::unique_ptr<Fault> makeNoWarmupBuffers(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<NoWarmupBuffers>(spec, environment);
}

std::unique_ptr<Fault> makeUnfusedAttention(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<UnfusedAttention>(spec, environment);
}

std::unique_ptr<Fault> makeOffloadedParameter(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<OffloadedParameter>(spec, environment);
}

} // namespace gdt::faults
