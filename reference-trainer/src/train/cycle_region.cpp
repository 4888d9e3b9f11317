// SPDX-License-Identifier: Apache-2.0
#include "train/cycle_region.h"

namespace gdt::train {

using runtime::Status;

template <class T>
CycleRegion<T>::CycleRegion(const Parts& parts, std::int64_t microBatches)
    : m_parts(parts)
    , m_seqLen(parts.fetch.seqLen)
    , m_schedule(pipeline::singleStageSchedule(microBatches)) { }

template <class T> Status CycleRegion<T>::issue(runtime::Stream& stream) {
    const model::Pass pass{stream, m_parts.faults, {m_seqLen, m_parts.fetch.batch}};
    for (const pipeline::Instruction& instruction : m_schedule) {
        GDT_TRY(run(instruction, pass));
    }
    return Status::Success;
}

template <class T> Status CycleRegion<T>::fetch(runtime::Stream& stream, std::int64_t microBatch) {
    kernels::FetchTokens::Args args = m_parts.fetch;
    args.seqLen = m_seqLen;
    args.microBatch = microBatch;
    return stream.launch<kernels::FetchTokens>(model::gridFor(args.seqLen * args.batch), args);
}

template <class T>
Status CycleRegion<T>::run(const pipeline::Instruction& instruction, const model::Pass& pass) {
    const kernels::FetchTokens::Args& f = m_parts.fetch;
    const model::Batch batch{f.tokens, f.targets};
    switch (instruction.operation) {
    case pipeline::Operation::Forward: {
        const std::int64_t tokens = pass.shape.rows() * f.microBatches * f.ranks;
        GDT_TRY(fetch(pass.stream, instruction.microBatch));
        return m_parts.stage.forward(pass, batch, m_parts.state, 1.0 / static_cast<double>(tokens));
    }
    case pipeline::Operation::Backward:
        return m_parts.stage.backward(pass, batch);
    case pipeline::Operation::GradientSync:
        if (m_parts.reduction.communicator == nullptr) {
            return Status::Success;
        }
        return m_parts.faults.reduceGradients(m_parts.reduction, pass.stream);
    }
    return Status::InvalidValue;
}

template class CycleRegion<float>;
template class CycleRegion<double>;
template class CycleRegion<kernels::BFloat16>;

} // namespace gdt::train
