// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gdt::comm {

/// NCCL's ncclDataType_t numbers.
enum class DataType : std::uint32_t { Float32 = 7, Float64 = 8 };
/// NCCL's ncclRedOp_t numbers.
enum class ReduceOp : std::uint32_t { Sum = 0 };

[[nodiscard]] constexpr std::size_t sizeOf(DataType type) {
    return type == DataType::Float32 ? 4 : 8;
}

/// A group of ranks that call the same operations in the same order. Operations are queued on a stream, or
/// become comm nodes of the graph that the stream captures; being captured is a property that all ranks must
/// share. A mismatch, a dead peer or a time-out fails the operation when it runs: the device then reports
/// LaunchFailed and error() says why.
class Communicator {
public:
    virtual ~Communicator() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    /// The same number on all ranks, different for two communicators of one job.
    [[nodiscard]] virtual std::uint64_t hash() const = 0;

    /// `receive` may be equal to `send`. The result is the sum in rank order, bit-identical on all ranks and
    /// runs.
    virtual runtime::Status allReduce(const void* send, void* receive, std::size_t count, DataType type,
        ReduceOp op, runtime::Stream& stream)
        = 0;

    /// Fails all operations that are waiting or will come, here and on the peers.
    virtual void abort() = 0;
    /// Empty while no operation failed; else one sentence that names rank, operation and peer.
    [[nodiscard]] virtual std::string error() const = 0;
};

} // namespace gdt::comm
