// SPDX-License-Identifier: Apache-2.0
#include "optim/adamw.h"

#include "faults/fault_site.h"
#include "kernels/optimizer.h"
#include "model/pass.h"

namespace gdt::optim {

using model::gridFor;
using runtime::Status;

template <class T>
AdamWOptimizer<T>::AdamWOptimizer(runtime::Device& device, const OptimizerConfig& config,
    const model::ParameterLayout& layout, Wide* master, T* values, Wide* gradients, StepState* state)
    : m_device(device)
    , m_config(config)
    , m_count(layout.count())
    , m_decayedCount(layout.decayedCount())
    , m_master(master)
    , m_rounded(std::is_same_v<T, Wide> ? nullptr : values)
    , m_gradients(gradients)
    , m_state(state) { }

template <class T> AdamWOptimizer<T>::~AdamWOptimizer() {
    // A capture that was left open forbids this; the process then ends with the memory still allocated.
    for (Wide* moment : {m_firstMoment, m_secondMoment}) {
        (void)m_device.release(moment);
    }
}

template <class T> Status AdamWOptimizer<T>::ensureState() {
    const std::size_t bytes = static_cast<std::size_t>(m_count) * sizeof(Wide);
    for (Wide** moment : {&m_firstMoment, &m_secondMoment}) {
        if (*moment != nullptr) {
            continue;
        }
        void* memory = nullptr;
        GDT_TRY(GDT_FAULT_SITE("no-warmup-optimizer", "cuMemAlloc", m_device.allocate(&memory, bytes)));
        *moment = static_cast<Wide*>(memory);
    }
    return Status::Success;
}

template <class T> Status AdamWOptimizer<T>::releaseState() {
    for (Wide** moment : {&m_firstMoment, &m_secondMoment}) {
        if (*moment != nullptr) {
            GDT_TRY(m_device.release(*moment));
            *moment = nullptr;
        }
    }
    return m_device.fill(&m_state->updates, 0, sizeof(m_state->updates));
}

template <class T>
Status AdamWOptimizer<T>::update(
    runtime::Stream& stream, std::int64_t first, std::int64_t count, double decay) {
    if (count == 0) {
        return Status::Success;
    }
    return stream.template launch<kernels::AdamW<T>>(gridFor(count),
        {m_master + first, m_gradients + first, m_firstMoment + first, m_secondMoment + first,
            m_rounded != nullptr ? m_rounded + first : nullptr, m_state, count, m_config.beta1,
            m_config.beta2, m_config.epsilon, decay});
}

template <class T> Status AdamWOptimizer<T>::issue(runtime::Stream& stream) {
    GDT_TRY(ensureState());
    GDT_TRY(stream.template launch<kernels::LearningRateSchedule>(gridFor(1),
        {m_state, m_config.peakRate, m_config.floorRate, m_config.beta1, m_config.beta2, m_config.warmupSteps,
            m_config.decaySteps}));
    GDT_TRY(stream.template launch<kernels::SumOfSquares<Wide>>(
        gridFor(m_count), {m_gradients, m_state, m_count}));
    GDT_TRY(stream.template launch<kernels::ClipCoefficient>(gridFor(1), {m_state, m_config.clipNorm}));
    GDT_TRY(update(stream, 0, m_decayedCount, m_config.weightDecay));
    GDT_TRY(update(stream, m_decayedCount, m_count - m_decayedCount, 0.0));
    GDT_TRY(stream.memsetAsync(m_gradients, 0, static_cast<std::size_t>(m_count) * sizeof(Wide)));
    return stream.template launch<kernels::FinishStep>(gridFor(1), {m_state});
}

template class AdamWOptimizer<float>;
template class AdamWOptimizer<double>;
template class AdamWOptimizer<kernels::BFloat16>;

} // namespace gdt::optim
