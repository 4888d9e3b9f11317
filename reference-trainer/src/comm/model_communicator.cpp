// SPDX-License-Identifier: Apache-2.0
#include "comm/model_communicator.h"

#include "kernels/modelled_transfer.h"
#include "runtime/host/report_to_tool.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gdt::comm {

using kernels::ModelledTransfer;
using runtime::CommArguments;
using runtime::Status;
using runtime::Stream;

// The host's streams call this where they would call a real communicator, several at a time: nothing changes.
class ModelCommunicator::Endpoint final : public runtime::CommEndpoint {
public:
    explicit Endpoint(const ModelCommunicator& owner)
        : m_hash(owner.hash())
        , m_rank(owner.rank())
        , m_ranks(owner.size()) { }

    Status execute(const CommArguments& arguments, bool) override {
        ModelledTransfer::Args transfer = copiesOf(arguments);
        transfer.delayNs = arguments.modelledNs;
        ModelledTransfer::host(transfer);
        return Status::Success;
    }
    [[nodiscard]] std::uint64_t commHash() const override { return m_hash; }
    [[nodiscard]] std::uint32_t commRanks() const override { return static_cast<std::uint32_t>(m_ranks); }

    /// What the rank keeps or receives; a message is received from `arguments.send`, the source.
    [[nodiscard]] ModelledTransfer::Args copiesOf(const CommArguments& arguments) const {
        const auto bytes = static_cast<std::int64_t>(arguments.messageBytes);
        const auto* send = static_cast<const std::byte*>(arguments.send);
        switch (arguments.kind) {
        case GD_RT_COMM_ALL_GATHER:
            return {send, arguments.receive, bytes, m_ranks};
        case GD_RT_COMM_REDUCE_SCATTER:
            return {send + m_rank * bytes, arguments.receive, bytes, 1};
        case GD_RT_COMM_SEND:
            return {};
        default:
            return {send, arguments.receive, bytes, arguments.receive != nullptr ? 1 : 0};
        }
    }

private:
    std::uint64_t m_hash;
    int m_rank, m_ranks;
};

namespace {

std::uint64_t hashOf(const std::vector<int>& ranks, const void* self) {
    std::uint64_t hash = 0xcbf29ce484222325U ^ reinterpret_cast<std::uint64_t>(self);
    for (const int rank : ranks) {
        hash = (hash ^ static_cast<std::uint64_t>(rank)) * 0x100000001b3U;
    }
    return hash;
}

CommArguments argumentsFor(
    std::uint32_t kind, const void* send, void* receive, std::size_t count, DataType type) {
    CommArguments arguments;
    arguments.kind = kind;
    arguments.dataType = static_cast<std::uint32_t>(type);
    arguments.count = count;
    arguments.send = send;
    arguments.receive = receive;
    arguments.messageBytes = count * sizeOf(type);
    arguments.modelled = true;
    return arguments;
}

} // namespace

ModelCommunicator::ModelCommunicator(const ModelCommunicatorOptions& options)
    : m_options(options)
    , m_link(options.network.linkOf(options.jobRanks))
    , m_hash(hashOf(options.jobRanks, this))
    , m_endpoint(std::make_shared<Endpoint>(*this)) {
    if (m_options.backend == runtime::Backend::Host) {
        runtime::host::attachTool();
        runtime::host::ApiCall call({.api = GD_API_COMM_INIT});
        runtime::host::reportComm(GD_RT_CREATED, m_hash, size(), rank());
        static_cast<void>(call.end(Status::Success));
    }
}

ModelCommunicator::~ModelCommunicator() {
    if (m_options.backend == runtime::Backend::Host) {
        runtime::host::ApiCall call({.api = GD_API_COMM_DESTROY});
        runtime::host::reportComm(GD_RT_DESTROYED, m_hash, size(), rank());
        static_cast<void>(call.end(Status::Success));
    }
}

void ModelCommunicator::setSource(const void* source, std::size_t bytes) {
    m_source = source;
    m_sourceBytes = bytes;
}

std::string ModelCommunicator::text() const {
    return std::to_string(size()) + " ranks "
        + (m_options.network.spansNodes(m_options.jobRanks) ? "on several nodes" : "within a node")
        + ", each operation " + m_link.text();
}

std::int64_t ModelCommunicator::timeOf(const CommArguments& operation) const {
    return modelledNs(operation.kind, operation.messageBytes, size(), m_link);
}

Status ModelCommunicator::run(const CommArguments& operation, Stream& stream) {
    return runFor(operation, timeOf(operation), stream);
}

Status ModelCommunicator::runFor(CommArguments operation, std::int64_t ns, Stream& stream) {
    if (operation.count == 0) {
        return Status::InvalidValue;
    }
    operation.modelledNs = ns;
    if (m_options.backend == runtime::Backend::Host) {
        return stream.enqueueComm({m_endpoint, operation});
    }
    ModelledTransfer::Args transfer = m_endpoint->copiesOf(operation);
    transfer.delayNs = ns;
    return stream.launch<ModelledTransfer>({}, transfer);
}

Status ModelCommunicator::allReduce(
    const void* send, void* receive, std::size_t count, DataType type, ReduceOp, Stream& stream) {
    return run(argumentsFor(GD_RT_COMM_ALL_REDUCE, send, receive, count, type), stream);
}

Status ModelCommunicator::reduceScatter(
    const void* send, void* receive, std::size_t receiveCount, DataType type, ReduceOp, Stream& stream) {
    return run(argumentsFor(GD_RT_COMM_REDUCE_SCATTER, send, receive, receiveCount, type), stream);
}

Status ModelCommunicator::allGather(
    const void* send, void* receive, std::size_t sendCount, DataType type, Stream& stream) {
    return run(argumentsFor(GD_RT_COMM_ALL_GATHER, send, receive, sendCount, type), stream);
}

Status ModelCommunicator::broadcast(
    const void* send, void* receive, std::size_t count, DataType type, int root, Stream& stream) {
    const void* from = root == rank() ? send : receive;
    CommArguments operation = argumentsFor(GD_RT_COMM_BROADCAST, from, receive, count, type);
    operation.root = root;
    return root < 0 || root >= size() ? Status::InvalidValue : run(operation, stream);
}

Status ModelCommunicator::message(const CommArguments& operation, Stream& stream) {
    if (operation.root < 0 || operation.root >= size() || operation.root == rank()) {
        return Status::InvalidValue;
    }
    if (!m_grouping) {
        return run(operation, stream);
    }
    m_queued.push_back(operation);
    m_groupStream = &stream;
    return Status::Success;
}

Status ModelCommunicator::send(const void* data, std::size_t count, DataType type, int peer, Stream& stream) {
    CommArguments operation = argumentsFor(GD_RT_COMM_SEND, data, nullptr, count, type);
    operation.root = peer;
    return message(operation, stream);
}

Status ModelCommunicator::receive(void* data, std::size_t count, DataType type, int peer, Stream& stream) {
    const bool covered = m_source != nullptr && count * sizeOf(type) <= m_sourceBytes;
    CommArguments operation = argumentsFor(GD_RT_COMM_RECV, covered ? m_source : nullptr, data, count, type);
    operation.root = peer;
    return message(operation, stream);
}

Status ModelCommunicator::groupStart() {
    if (m_grouping) {
        return Status::InvalidValue;
    }
    m_grouping = true;
    return Status::Success;
}

// Messages of a group travel in both directions at once: the last one takes the longer direction's time.
Status ModelCommunicator::groupEnd() {
    if (!m_grouping) {
        return Status::InvalidValue;
    }
    m_grouping = false;
    std::vector<CommArguments> queued = std::move(m_queued);
    m_queued.clear();
    std::int64_t sendNs = 0;
    std::int64_t receiveNs = 0;
    for (std::size_t i = 0; i < queued.size(); ++i) {
        (queued[i].kind == GD_RT_COMM_SEND ? sendNs : receiveNs) += timeOf(queued[i]);
        const bool last = i + 1 == queued.size();
        queued[i].deferred = !last;
        GDT_TRY(runFor(queued[i], last ? std::max(sendNs, receiveNs) : 0, *m_groupStream));
    }
    return Status::Success;
}

std::unique_ptr<Communicator> ModelCommunicator::split(int color, int, std::string& error) {
    error = color < 0 ? "" : "a modelled communicator has no peers to split with";
    return nullptr;
}

} // namespace gdt::comm
