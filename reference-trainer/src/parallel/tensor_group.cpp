// SPDX-License-Identifier: Apache-2.0
#include "parallel/tensor_group.h"

namespace gdt::parallel {

using runtime::Status;
using runtime::Stream;

// The stream that the next collective goes to.
Status TensorGroup::queue(Stream& stream, Stream*& target) const {
    target = side != nullptr ? &side->stream() : &stream;
    return side != nullptr ? side->fork(stream) : Status::Success;
}

template <class T>
Status TensorGroup::allReduce(Stream& stream, T* data, std::int64_t count, comm::ReduceOp op) const {
    Stream* target = nullptr;
    GDT_TRY(queue(stream, target));
    return communicator->at().allReduce(
        data, data, static_cast<std::size_t>(count), wireType<T>(), op, *target);
}

template <class T>
Status TensorGroup::gather(Stream& stream, const T* shard, T* whole, std::int64_t count) const {
    Stream* target = nullptr;
    GDT_TRY(queue(stream, target));
    return communicator->at().allGather(
        shard, whole, static_cast<std::size_t>(count), wireType<T>(), *target);
}

template <class T>
Status TensorGroup::scatter(Stream& stream, const T* whole, T* shard, std::int64_t count) const {
    Stream* target = nullptr;
    GDT_TRY(queue(stream, target));
    return communicator->at().reduceScatter(
        whole, shard, static_cast<std::size_t>(count), wireType<T>(), comm::ReduceOp::Sum, *target);
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template Status TensorGroup::allReduce<T>(Stream&, T*, std::int64_t, comm::ReduceOp) const;              \
    template Status TensorGroup::gather<T>(Stream&, const T*, T*, std::int64_t) const;                       \
    template Status TensorGroup::scatter<T>(Stream&, const T*, T*, std::int64_t) const;
GDT_INSTANTIATE(float)
GDT_INSTANTIATE(double)
GDT_INSTANTIATE(kernels::BFloat16)
GDT_INSTANTIATE(kernels::Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::parallel
