// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace gdt::comm {

/// What error() says of a peer that is gone.
constexpr const char* kHasEnded = " has ended";

/// NCCL's ncclDataType_t numbers.
enum class DataType : std::uint32_t {
    Uint8 = 1,
    Int32 = 2,
    Int64 = 4,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    BFloat16 = 9,
};
/// NCCL's ncclRedOp_t numbers.
enum class ReduceOp : std::uint32_t { Sum = 0, Max = 2 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t sizeOf(DataType type) {
    switch (type) {
    case DataType::Uint8:
        return 1;
    case DataType::Float16:
    case DataType::BFloat16:
        return 2;
    case DataType::Int32:
    case DataType::Float32:
        return 4;
    case DataType::Int64:
    case DataType::Float64:
        break;
    }
    return 8;
}

template <class T> constexpr DataType dataTypeOf();
template <> constexpr DataType dataTypeOf<float>() {
    return DataType::Float32;
}
template <> constexpr DataType dataTypeOf<double>() {
    return DataType::Float64;
}

/// A group of ranks that call the same operations in the same order. Operations are queued on a stream, or
/// become comm nodes of the graph that the stream captures; being captured is a property that all ranks must
/// share. Counts are elements, as NCCL counts them. A mismatch, a dead peer or a time-out fails the operation
/// when it runs: the device then reports LaunchFailed and error() says why. All ranks of one job call the
/// operations of a communicator from one thread each.
class Communicator {
public:
    virtual ~Communicator() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    /// The same number on all ranks, different for two communicators of one job.
    [[nodiscard]] virtual std::uint64_t hash() const = 0;

    /// The line that queues the next operation, for messages: communicator.at().allReduce(...).
    Communicator& at(std::source_location where = std::source_location::current()) {
        m_where = where;
        return *this;
    }
    /// What messages call it, and the members' ranks in the job.
    virtual void identify(const std::string& /*name*/, const std::vector<int>& /*jobRanks*/) { }

    /// `receive` may be equal to `send`. On the host backend the result is combined in rank order,
    /// bit-identical on all ranks and runs.
    virtual runtime::Status allReduce(const void* send, void* receive, std::size_t count, DataType type,
        ReduceOp op, runtime::Stream& stream)
        = 0;
    /// `send` holds size() * receiveCount elements; rank r gets the r-th part of the combination. `receive`
    /// may be that part of `send`.
    virtual runtime::Status reduceScatter(const void* send, void* receive, std::size_t receiveCount,
        DataType type, ReduceOp op, runtime::Stream& stream)
        = 0;
    /// `receive` has room for size() * sendCount elements, rank r's at r * sendCount. `send` may be this
    /// rank's part of `receive`.
    virtual runtime::Status allGather(
        const void* send, void* receive, std::size_t sendCount, DataType type, runtime::Stream& stream)
        = 0;
    /// `send` is read on `root` only; `receive` may be equal to it.
    virtual runtime::Status broadcast(
        const void* send, void* receive, std::size_t count, DataType type, int root, runtime::Stream& stream)
        = 0;

    /// One message to `peer`, which must receive the same count and type. A send may wait for its receiver,
    /// so two ranks that send to each other first need a group.
    virtual runtime::Status send(
        const void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream)
        = 0;
    virtual runtime::Status receive(
        void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream)
        = 0;
    /// Sends and receives between the two, all on one stream, make progress together and complete together;
    /// they are queued by groupEnd(). Groups do not nest and hold no collectives.
    virtual runtime::Status groupStart() = 0;
    virtual runtime::Status groupEnd() = 0;

    /// A communicator for each color, made of the ranks that gave it, in the order of (key, rank); none for a
    /// negative color. Called by all ranks, while no operation of this communicator is under way; waits for
    /// them. Returns null with an empty `error` for a negative color, null with one sentence on failure.
    [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key, std::string& error) = 0;

    /// Fails all operations that are waiting or will come, here and on the peers.
    virtual void abort() = 0;
    /// Empty while no operation failed; else one sentence that names rank, operation and peer.
    [[nodiscard]] virtual std::string error() const = 0;
    /// The job has failed, which its user was told: from now on waiting for peers in vain ends the process,
    /// with status 1 and without another word. Where operations end by themselves there is nothing to do.
    virtual void leave() { }
    /// True for the first rank that asks, so that one of them says why the job ends; true for all where they
    /// cannot know.
    [[nodiscard]] virtual bool claimsLastWord() { return true; }

protected:
    std::source_location m_where; ///< line 0: nobody said
};

} // namespace gdt::comm
