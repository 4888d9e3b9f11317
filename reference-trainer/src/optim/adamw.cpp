// SPDX-License-Identifier: Apache-2.0
#include "optim/adamw.h"

#include "faults/fault_site.h"
#include "kernels/optimizer.h"
#include "model/pass.h"
#include "parallel/tensor_group.h"

#include <algorithm>
#include <utility>

namespace gdt::optim {

using model::gridFor;
using runtime::Status;

template <class T>
AdamWOptimizer<T>::AdamWOptimizer(runtime::Device& device, const OptimizerConfig& config,
    const model::ParameterLayout& layout, Wide* master, T* values, Wide* gradients, StepState* state,
    const OptimizerRanks& ranks, const kernels::Fp8Scales& scales, OptimizerHooks* hooks)
    : m_device(device)
    , m_config(config)
    , m_layout(layout)
    , m_ranks(ranks)
    , m_hooks(hooks != nullptr ? *hooks : m_noHooks)
    , m_end(layout.count())
    , m_master(master)
    , m_rounded(std::is_same_v<T, Wide> ? nullptr : values)
    , m_gradients(gradients)
    , m_state(state)
    , m_scales(scales) {
    if (ranks.shards != nullptr) {
        const std::int64_t part = layout.count() / ranks.shards->size();
        m_begin = part * ranks.shards->rank();
        m_end = m_begin + part;
    }
}

template <class T> AdamWOptimizer<T>::~AdamWOptimizer() {
    // A capture that was left open forbids this; the process then ends with the memory still allocated.
    for (Wide* moment : {m_firstMoment, m_secondMoment}) {
        (void)m_device.release(moment);
    }
}

template <class T> Status AdamWOptimizer<T>::ensureState() {
    const std::size_t bytes = static_cast<std::size_t>(ownedCount()) * sizeof(Wide);
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
Status AdamWOptimizer<T>::addSquares(
    runtime::Stream& stream, std::int64_t begin, std::int64_t end, bool& first) {
    begin = std::max(begin, m_begin);
    end = std::min(end, m_end);
    const std::int64_t count = std::max<std::int64_t>(0, end - begin);
    if (count == 0 && !first) {
        return Status::Success;
    }
    const bool add = !std::exchange(first, false);
    return stream.template launch<kernels::SumOfSquares<Wide>>(gridFor(std::max<std::int64_t>(1, count)),
        {m_gradients + (count > 0 ? begin : 0), m_state, count, add});
}

// Every element of the model counts once, whoever holds copies of it.
template <class T> Status AdamWOptimizer<T>::norm(runtime::Stream& stream) {
    bool first = true;
    const std::int64_t begin = m_layout.secondary().count;
    if (m_ranks.countsReplicated) {
        GDT_TRY(addSquares(stream, begin, m_layout.usedCount(), first));
    } else {
        const auto replicated = m_layout.replicated();
        GDT_TRY(addSquares(stream, begin, replicated.first, first));
        GDT_TRY(addSquares(stream, replicated.first + replicated.count, m_layout.usedCount(), first));
    }
    if (m_ranks.norm != nullptr) {
        GDT_TRY(m_ranks.norm->at().allReduce(&m_state->gradSquares, &m_state->gradSquares, 1,
            comm::DataType::Float64, comm::ReduceOp::Sum, stream));
    }
    return stream.template launch<kernels::ClipCoefficient>(
        gridFor(1), {m_state, m_hooks.clipNorm(m_config.clipNorm), m_config.scaleWindow > 0});
}

template <class T>
Status AdamWOptimizer<T>::update(
    runtime::Stream& stream, std::int64_t begin, std::int64_t end, double decay) {
    begin = std::max(begin, m_begin);
    end = std::min(end, m_end);
    if (begin >= end) {
        return Status::Success;
    }
    const std::int64_t own = begin - m_begin;
    return stream.template launch<kernels::AdamW<T>>(gridFor(end - begin),
        {m_master + begin, m_gradients + begin, m_firstMoment + own, m_secondMoment + own,
            m_rounded != nullptr ? m_rounded + begin : nullptr, m_state, end - begin, m_config.beta1,
            m_config.beta2, m_config.epsilon, decay});
}

// What the model computes with; where T is narrow the other parts of `master` are not kept up to date.
template <class T> Status AdamWOptimizer<T>::gatherShards(runtime::Stream& stream) {
    if (m_ranks.shards == nullptr) {
        return Status::Success;
    }
    const auto count = static_cast<std::size_t>(ownedCount());
    if (m_rounded != nullptr) {
        return m_ranks.shards->at().allGather(
            m_rounded + m_begin, m_rounded, count, parallel::wireType<T>(), stream);
    }
    return m_ranks.shards->at().allGather(
        m_master + m_begin, m_master, count, parallel::wireType<Wide>(), stream);
}

template <class T> Status AdamWOptimizer<T>::updateScales(runtime::Stream& stream) {
    if (m_scales.count == 0) {
        return Status::Success;
    }
    const auto count = static_cast<std::size_t>(m_scales.count);
    for (comm::Communicator* parts : m_ranks.tensorParts) {
        if (parts != nullptr) {
            GDT_TRY(parts->at().allReduce(
                m_scales.amax, m_scales.amax, count, comm::DataType::Float32, comm::ReduceOp::Max, stream));
        }
    }
    return stream.template launch<kernels::UpdateFp8Scales>(gridFor(m_scales.count),
        {m_scales.amax, m_scales.scale, m_scales.inverse, m_scales.history, m_state, m_scales.count});
}

template <class T> Status AdamWOptimizer<T>::issue(runtime::Stream& stream) {
    GDT_TRY(ensureState());
    GDT_TRY(stream.template launch<kernels::LearningRateSchedule>(gridFor(1),
        {m_state, m_config.peakRate, m_config.floorRate, m_config.beta1, m_config.beta2, m_config.warmupSteps,
            m_config.decaySteps}));
    GDT_TRY(m_hooks.afterSchedule(stream));
    GDT_TRY(norm(stream));
    GDT_TRY(update(stream, 0, m_layout.decayedCount(), m_config.weightDecay));
    GDT_TRY(update(stream, m_layout.decayedCount(), m_layout.count(), 0.0));
    GDT_TRY(gatherShards(stream));
    if (m_hooks.clearsGradients()) {
        GDT_TRY(
            stream.memsetAsync(m_gradients, 0, static_cast<std::size_t>(m_layout.count()) * sizeof(Wide)));
    }
    GDT_TRY(updateScales(stream));
    return stream.template launch<kernels::FinishStep>(gridFor(1), {m_state, m_config.scaleWindow});
}

template class AdamWOptimizer<float>;
template class AdamWOptimizer<double>;
template class AdamWOptimizer<kernels::BFloat16>;
template class AdamWOptimizer<kernels::Float16>;

} // namespace gdt::optim
