// SPDX-License-Identifier: Apache-2.0
// Numbers that the host raises from step to step and passes by value: eager steps are right, a graph keeps
// the number of its capture. Harmless: the number stays in device memory, where a replay reads it.
#include "faults/fault.h"
#include "faults/fault_site.h"
#include "kernels/optimizer.h"
#include "model/pass.h"
#include "model/transformer_layer.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gdt::faults {

using graphs::Scope;
using runtime::Status;

namespace {

class ScalarFault : public Fault {
public:
    using Fault::Fault;

    std::optional<std::int64_t> warmupRuns(Scope) override { return spec().step; }
};

// What the device would compute for this step, computed by the host.
optim::StepState hostSchedule(std::int64_t step, const optim::OptimizerConfig& config) {
    optim::StepState state{};
    state.step = step;
    state.updates = step;
    kernels::LearningRateSchedule::host({&state, config.peakRate, config.floorRate, config.beta1,
        config.beta2, config.warmupSteps, config.decaySteps});
    return state;
}

class HostLearningRate final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    [[gnu::noinline]] Status afterSchedule(runtime::Stream& stream) override {
        if (harmless()) {
            return Status::Success;
        }
        const double rate = hostSchedule(step(), env().optimizer).learningRate;
        GDT_TRY(GDT_FAULT_SITE("lr-frozen", "cuLaunchKernel",
            stream.launch<kernels::SetScalar>(model::gridFor(1), {&env().state->learningRate, rate})));
        return Status::Success;
    }
};

class HostBetaPowers final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    [[gnu::noinline]] Status afterSchedule(runtime::Stream& stream) override {
        if (harmless()) {
            return Status::Success;
        }
        const optim::StepState now = hostSchedule(step(), env().optimizer);
        GDT_TRY(GDT_FAULT_SITE("host-beta-step", "cuLaunchKernel",
            stream.launch<kernels::SetScalar>(
                model::gridFor(1), {&env().state->beta1Power, now.beta1Power})));
        GDT_TRY(GDT_FAULT_SITE("host-beta-step", "cuLaunchKernel",
            stream.launch<kernels::SetScalar>(
                model::gridFor(1), {&env().state->beta2Power, now.beta2Power})));
        return Status::Success;
    }
};

// The limit of the gradient norm starts wide and is tightened in the first steps.
class HostClipNorm final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    std::optional<double> clipNorm(double configured) override {
        if (harmless()) {
            return std::nullopt;
        }
        return configured * (1.0 + 8.0 / static_cast<double>(1 + step()));
    }
};

// The norms of a layer start with a large epsilon, which falls to the configured one with the phases of the
// training: a tenth of it at each step.
class HostEpsilon final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    std::optional<double> normEpsilon(double configured) override {
        if (harmless()) {
            return std::nullopt;
        }
        return configured * (1.0 + spec().param.value_or(1000.0) / static_cast<double>(1 + step() * step()));
    }
};

// The masks of a layer come from a seed that the host raises, instead of the number of the samples.
class HostDropoutSeed final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    Status open() override {
        void* memory = nullptr;
        GDT_TRY(env().pool.allocate(&memory, sizeof(std::int64_t)));
        m_none = static_cast<std::int64_t*>(memory);
        return env().device.fill(memory, 0, sizeof(std::int64_t));
    }

    std::optional<model::DropoutSource> dropoutSource(const model::DropoutSource& configured) override {
        if (harmless()) {
            return std::nullopt;
        }
        return model::DropoutSource{configured.seed + static_cast<std::uint64_t>(step()), m_none};
    }

private:
    std::int64_t* m_none = nullptr; // device
};

// The host copies the largest values of a layer's 8-bit tensors after each step, and passes the scales of the
// next step by value: those that fit these values exactly, where the device takes a power of two.
class HostFp8Scales final : public ScalarFault {
public:
    using ScalarFault::ScalarFault;

    // The largest values grow in some steps only, and the first step has seen none: a dozen eager steps show
    // that the scales change.
    std::optional<std::int64_t> warmupRuns(Scope) override {
        return spec().step.value_or(std::max<std::int64_t>(env().warmupRuns, kWarmupRuns));
    }

    [[gnu::noinline]] Status inForward(runtime::Stream& stream) override {
        if (harmless()) {
            return Status::Success;
        }
        const kernels::Fp8Scales device = scales();
        for (std::size_t i = 0; i < m_values.size(); ++i) {
            GDT_TRY(GDT_FAULT_SITE("fp8-scale-host", "cuLaunchKernel",
                stream.launch<kernels::SetFp8Scale>(
                    model::gridFor(1), {device.scale + i, device.inverse + i, m_values[i]})));
        }
        return Status::Success;
    }

    Status endStep() override {
        const kernels::Fp8Scales device = scales();
        if (harmless() || device.history == nullptr) {
            return Status::Success;
        }
        constexpr std::int64_t kTensors = model::TransformerLayer<kernels::BFloat16>::kFp8Tensors;
        std::vector<float> history(
            static_cast<std::size_t>((kernels::kFp8History - 1) * device.count + kTensors));
        runtime::Stream& stream = env().compute.stream();
        GDT_TRY(stream.memcpyAsync(
            history.data(), device.history, history.size() * sizeof(float), runtime::CopyKind::DeviceToHost));
        GDT_TRY(stream.synchronize());
        m_values.clear();
        for (std::int64_t i = 0; i < kTensors; ++i) {
            float most = 0;
            for (std::int64_t s = 0; s < kernels::kFp8History; ++s) {
                most = std::max(most, history[static_cast<std::size_t>(s * device.count + i)]);
            }
            const bool gradient = i % kernels::kFp8Tensors == kernels::kFp8Tensors - 1;
            const double largest = gradient ? kernels::kMostE5M2 : kernels::kMostE4M3;
            m_values.push_back(most > 0 && std::isfinite(most) ? largest / most : 1.0);
        }
        return Status::Success;
    }

private:
    static constexpr std::int64_t kWarmupRuns = 12;

    [[nodiscard]] kernels::Fp8Scales scales() const {
        return env().fp8Scales(spec().layer.value_or(env().firstLayer));
    }

    std::vector<double> m_values; // of the next step; empty before the first
};

} // namespace

std::unique_ptr<Fault> makeHostLearningRate(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostLearningRate>(spec, environment);
}

std::unique_ptr<Fault> makeHostBetaPowers(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostBetaPowers>(spec, environment);
}

std::unique_ptr<Fault> makeHostClipNorm(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostClipNorm>(spec, environment);
}

std::unique_ptr<Fault> makeHostEpsilon(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostEpsilon>(spec, environment);
}

std::unique_ptr<Fault> makeHostDropoutSeed(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostDropoutSeed>(spec, environment);
}

std::unique_ptr<Fault> makeHostFp8Scales(const FaultSpec& spec, FaultEnvironment& environment) {
    return makeFault<HostFp8Scales>(spec, environment);
}

} // namespace gdt::faults
