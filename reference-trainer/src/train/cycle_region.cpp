// SPDX-License-Identifier: Apache-2.0
#include "train/cycle_region.h"

#include "faults/fault_site.h"

#include <algorithm>

namespace gdt::train {

using pipeline::Operation;
using runtime::Status;

template <class T>
CycleRegion<T>::CycleRegion(const Parts& parts)
    : m_parts(parts)
    , m_forwardsFirst(parts.schedule.instructions)
    , m_seqLen(parts.fetch.seqLen) {
    std::stable_partition(m_forwardsFirst.begin(), m_forwardsFirst.end(),
        [](const Instruction& i) { return i.operation == Operation::Forward; });
}

template <class T> Status CycleRegion<T>::issue(runtime::Stream& stream) {
    const kernels::FetchTokens::Args& f = m_parts.fetch;
    const std::int64_t globalTokens = m_seqLen * f.batch * f.microBatches * f.ranks;
    const model::Pass pass{stream, m_parts.faults, {m_parts.parallel.context.localLength(m_seqLen), f.batch},
        m_parts.parallel, m_seqLen, 1.0 / static_cast<double>(globalTokens)};
    const auto& list = m_parts.faults.forwardsFirst() ? m_forwardsFirst : m_parts.schedule.instructions;
    for (std::size_t i = 0; i < list.size();) {
        switch (list[i].operation) {
        case Operation::Forward:
        case Operation::Backward:
            GDT_TRY(runPass(list[i], pass));
            ++i;
            break;
        case Operation::GradientSync:
            if (m_parts.reduction.any()) {
                GDT_TRY(m_parts.faults.reduceGradients(m_parts.reduction, stream));
            }
            ++i;
            break;
        default:
            GDT_TRY(runMessages(i, pass));
        }
    }
    return Status::Success;
}

template <class T> Status CycleRegion<T>::fetch(const Instruction& instruction, const model::Pass& pass) {
    const auto& slot = m_parts.stage.slot(instruction.chunk, instruction.slot);
    const kernels::SequenceShard shard = m_parts.parallel.context.shard(m_seqLen);
    kernels::FetchTokens::Args args = m_parts.fetch;
    args.tokens = slot.tokens;
    args.targets = slot.targets;
    args.firstSample = slot.firstSample;
    args.seqLen = m_seqLen;
    args.microBatch = instruction.microBatch;
    args.localLen = pass.shape.seqLen;
    args.chunk = shard.chunk;
    args.first0 = shard.first0;
    args.first1 = shard.first1;
    return pass.stream.launch<kernels::FetchTokens>(model::gridFor(pass.rows()), args);
}

template <class T> Status CycleRegion<T>::runPass(const Instruction& instruction, const model::Pass& pass) {
    const bool backward = instruction.operation == Operation::Backward;
    const PassRunner::Place place{instruction.chunk, backward, instruction.slot, instruction.microBatch};
    if (!backward) {
        GDT_TRY(fetch(instruction, pass));
    }
    const model::StepList& steps = backward ? m_parts.stage.backwardSteps(instruction.chunk)
                                            : m_parts.stage.forwardSteps(instruction.chunk);
    GDT_TRY(m_parts.passes.run(steps, place, pass));
    return !backward && capturesPasses() ? m_parts.faults.afterForwardPass(pass.stream) : Status::Success;
}

template <class T> Status CycleRegion<T>::runMessages(std::size_t& first, const model::Pass& pass) {
    const auto& list = m_parts.schedule.instructions;
    std::size_t end = first + 1;
    while (list[end].peer >= 0 && list[end].tick == list[first].tick) {
        ++end;
    }
    if (!m_parts.grouped) {
        return runUngrouped(first, end, pass);
    }
    const bool receives = std::any_of(&list[first], &list[end], [](const Instruction& i) {
        return i.operation == Operation::ReceiveForward || i.operation == Operation::ReceiveBackward;
    });
    const bool group = end - first > 1;
    if (group) {
        GDT_TRY(m_parts.pipeline->groupStart());
    }
    for (; first < end; ++first) {
        GDT_TRY(message(list[first], pass));
    }
    if (group) {
        GDT_TRY(m_parts.pipeline->groupEnd());
    }
    return receives ? m_parts.faults.afterReceive(pass.stream) : Status::Success;
}

// The fault pp-unfused-p2p: what is sent first, then what is received, one by one.
template <class T>
[[gnu::noinline]] Status CycleRegion<T>::runUngrouped(
    std::size_t& first, std::size_t end, const model::Pass& pass) {
    const auto& list = m_parts.schedule.instructions;
    const auto sends = [](const Instruction& i) {
        return i.operation == Operation::SendForward || i.operation == Operation::SendBackward;
    };
    for (const bool sending : {true, false}) {
        for (std::size_t i = first; i < end; ++i) {
            if (sends(list[i]) == sending) {
                GDT_TRY(message(list[i], pass));
            }
        }
    }
    first = end;
    return Status::Success;
}

template <class T> Status CycleRegion<T>::message(const Instruction& instruction, const model::Pass& pass) {
    const auto& slot = m_parts.stage.slot(instruction.chunk, instruction.slot);
    const auto count = static_cast<std::size_t>(m_parts.stage.messageCount(pass));
    constexpr comm::DataType kType = parallel::wireType<T>();
    comm::Communicator& pipeline = *m_parts.pipeline;
    switch (instruction.operation) {
    case Operation::SendForward:
        GDT_TRY(GDT_FAULT_SITE("pp-unfused-p2p", "send",
            pipeline.at().send(m_parts.stage.output(instruction.chunk, instruction.slot), count, kType,
                instruction.peer, pass.stream)));
        return Status::Success;
    case Operation::ReceiveForward:
        return pipeline.at().receive(slot.input, count, kType, instruction.peer, pass.stream);
    case Operation::SendBackward:
        return pipeline.at().send(slot.gradient, count, kType, instruction.peer, pass.stream);
    case Operation::ReceiveBackward:
        return pipeline.at().receive(slot.gradient, count, kType, instruction.peer, pass.stream);
    default:
        return Status::InvalidValue;
    }
}

template class CycleRegion<float>;
template class CycleRegion<double>;
template class CycleRegion<kernels::BFloat16>;
template class CycleRegion<kernels::Float16>;

} // namespace gdt::train
