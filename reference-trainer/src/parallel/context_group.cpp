// SPDX-License-Identifier: Apache-2.0
#include "parallel/context_group.h"

#include "faults/fault_site.h"
#include "parallel/tensor_group.h"

namespace gdt::parallel {

using runtime::Status;
using runtime::Stream;

HopKind ContextGroup::hop(int step) const {
    if (step == 0) {
        return HopKind::Causal;
    }
    const bool fromEarlier = step <= position(); // position - step, without wrapping around
    if (layout == RingLayout::Contiguous) {
        return fromEarlier ? HopKind::Full : HopKind::Nothing;
    }
    return fromEarlier ? HopKind::FirstKeys : HopKind::LastQueries;
}

kernels::SequenceShard ContextGroup::shardOf(int which, std::int64_t seqLen) const {
    if (size == 1) {
        return {};
    }
    const std::int64_t local = localLength(seqLen);
    if (layout == RingLayout::Contiguous) {
        return {local, which * local, 0};
    }
    const std::int64_t chunk = local / 2;
    return {chunk, which * chunk, (2 * size - 1 - which) * chunk};
}

template <class T>
Status ContextGroup::exchange(Stream& stream, const T* out, T* in, std::int64_t count) const {
    const auto elements = static_cast<std::size_t>(count);
    if (!grouped) {
        GDT_TRY(GDT_FAULT_SITE("ring-send-recv-order", "send",
            communicator->at().send(out, elements, wireType<T>(), next(), stream)));
        return communicator->at().receive(in, elements, wireType<T>(), previous(), stream);
    }
    GDT_TRY(communicator->groupStart());
    GDT_TRY(communicator->at().send(out, elements, wireType<T>(), next(), stream));
    GDT_TRY(communicator->at().receive(in, elements, wireType<T>(), previous(), stream));
    return communicator->groupEnd();
}

template Status ContextGroup::exchange<float>(Stream&, const float*, float*, std::int64_t) const;
template Status ContextGroup::exchange<double>(Stream&, const double*, double*, std::int64_t) const;
template Status ContextGroup::exchange<kernels::BFloat16>(
    Stream&, const kernels::BFloat16*, kernels::BFloat16*, std::int64_t) const;
template Status ContextGroup::exchange<kernels::Float16>(
    Stream&, const kernels::Float16*, kernels::Float16*, std::int64_t) const;

} // namespace gdt::parallel
