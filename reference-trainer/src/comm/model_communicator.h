// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
#include "comm/link_model.h"
#include "runtime/comm_call.h"

#include <vector>

namespace gdt::comm {

struct ModelCommunicatorOptions {
    runtime::Backend backend = runtime::Backend::Host;
    NetworkModel network;
    std::vector<int> jobRanks; ///< of the group, ascending
    int rank = 0; ///< this rank's place among them
};

/// A communicator for one rank of a job whose other ranks do not exist: each operation takes the time that
/// the network model says and communicates nothing. This rank's contribution stands for everybody's, received
/// messages are copies of `source`. On a GPU the time is that of a kernel that waits. Results are of no
/// meaning, only the times of this rank's work are; a tool sees the operations as MODELLED.
class ModelCommunicator final : public Communicator {
public:
    explicit ModelCommunicator(const ModelCommunicatorOptions& options);
    ~ModelCommunicator() override;

    /// Device memory that received messages are copies of; none before the first call. Outlives all graphs.
    void setSource(const void* source, std::size_t bytes);
    /// For example "8 ranks within a node, each operation 5.0 us + bytes / 370 GB/s".
    [[nodiscard]] std::string text() const;

    [[nodiscard]] int rank() const override { return m_options.rank; }
    [[nodiscard]] int size() const override { return static_cast<int>(m_options.jobRanks.size()); }
    [[nodiscard]] std::uint64_t hash() const override { return m_hash; }

    runtime::Status allReduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
        runtime::Stream& stream) override;
    runtime::Status reduceScatter(const void* send, void* receive, std::size_t receiveCount, DataType type,
        ReduceOp op, runtime::Stream& stream) override;
    runtime::Status allGather(const void* send, void* receive, std::size_t sendCount, DataType type,
        runtime::Stream& stream) override;
    runtime::Status broadcast(const void* send, void* receive, std::size_t count, DataType type, int root,
        runtime::Stream& stream) override;
    runtime::Status send(
        const void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override;
    runtime::Status receive(
        void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override;
    runtime::Status groupStart() override;
    runtime::Status groupEnd() override;

    /// A part of one rank: there is nobody to ask for colors.
    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, std::string& error) override;
    void abort() override { }
    [[nodiscard]] std::string error() const override { return {}; }

private:
    class Endpoint;

    [[nodiscard]] std::int64_t timeOf(const runtime::CommArguments& operation) const;
    /// `operation` as it is, with its time filled in.
    runtime::Status run(const runtime::CommArguments& operation, runtime::Stream& stream);
    runtime::Status runFor(runtime::CommArguments operation, std::int64_t ns, runtime::Stream& stream);
    runtime::Status message(const runtime::CommArguments& operation, runtime::Stream& stream);

    ModelCommunicatorOptions m_options;
    LinkCost m_link;
    std::uint64_t m_hash;
    std::shared_ptr<Endpoint> m_endpoint;
    const void* m_source = nullptr;
    std::size_t m_sourceBytes = 0;
    bool m_grouping = false;
    std::vector<runtime::CommArguments> m_queued;
    runtime::Stream* m_groupStream = nullptr;
};

} // namespace gdt::comm
