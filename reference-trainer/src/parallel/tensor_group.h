// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
#include "kernels/kernel.h"
#include "parallel/side_stream.h"

namespace gdt::parallel {

/// The tensor-parallel ranks of one model replica and stage, and how their collectives are queued. With one
/// rank every function does nothing. With `sequence` (Megatron's sequence parallel) norms, dropout and the
/// residual stream hold 1 / size of the positions: enter() gathers them and leave() sums and scatters; else
/// enter() does nothing and leave() sums in place.
struct TensorGroup {
    int rank = 0;
    int size = 1;
    comm::Communicator* communicator = nullptr;
    bool sequence = false;
    SideStream* side = nullptr; ///< collectives run there, beside the compute stream, until join()

    [[nodiscard]] bool parallel() const { return size > 1; }
    [[nodiscard]] bool shards() const { return size > 1 && sequence; }
    /// Rows of the residual stream on this rank, of `rows` altogether.
    [[nodiscard]] std::int64_t shardRows(std::int64_t rows) const { return shards() ? rows / size : rows; }
    [[nodiscard]] std::int64_t firstShardRow(std::int64_t rows) const {
        return shards() ? rank * shardRows(rows) : 0;
    }

    /// Starts the sum over ranks of `data`, in place.
    template <class T>
    runtime::Status allReduce(runtime::Stream& stream, T* data, std::int64_t count, comm::ReduceOp op) const;
    /// Starts whole[size * count] = the ranks' shard[count] one after another.
    template <class T>
    runtime::Status gather(runtime::Stream& stream, const T* shard, T* whole, std::int64_t count) const;
    /// Starts shard[count] = this rank's part of the sum of whole[size * count].
    template <class T>
    runtime::Status scatter(runtime::Stream& stream, const T* whole, T* shard, std::int64_t count) const;
    /// Later work of `stream` waits for what was started.
    runtime::Status join(runtime::Stream& stream) const {
        return side != nullptr ? side->join(stream) : runtime::Status::Success;
    }

private:
    [[nodiscard]] runtime::Status queue(runtime::Stream& stream, runtime::Stream*& target) const;
};

/// The wire format of an element type.
template <class T> constexpr comm::DataType wireType() {
    if constexpr (std::is_same_v<T, kernels::BFloat16>) {
        return comm::DataType::BFloat16;
    } else if constexpr (std::is_same_v<T, kernels::Float16>) {
        return comm::DataType::Float16;
    } else {
        return sizeof(T) == 8 ? comm::DataType::Float64 : comm::DataType::Float32;
    }
}

} // namespace gdt::parallel
