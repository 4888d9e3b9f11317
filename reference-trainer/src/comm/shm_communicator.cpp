// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_communicator.h"

#include "comm/shm_endpoint.h"
#include "comm/shm_rendezvous.h"
#include "runtime/host/report_to_tool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

namespace gdt::comm {

namespace {

using runtime::CommArguments;
using runtime::Status;
using runtime::Stream;

bool reducible(DataType type) {
    return type != DataType::Uint8;
}

class ShmCommunicator final : public Communicator {
public:
    ShmCommunicator(std::shared_ptr<ShmEndpoint> endpoint, int rank, int size)
        : m_endpoint(std::move(endpoint))
        , m_rank(rank)
        , m_size(size) {
        runtime::host::reportComm(GD_RT_CREATED, m_endpoint->commHash(), m_size, m_rank);
    }
    ~ShmCommunicator() override {
        if (m_aborted)
            return;
        runtime::host::ApiCall call({.api = GD_API_COMM_DESTROY});
        runtime::host::reportComm(GD_RT_DESTROYED, m_endpoint->commHash(), m_size, m_rank);
        static_cast<void>(call.end(Status::Success));
    }

    [[nodiscard]] int rank() const override { return m_rank; }
    [[nodiscard]] int size() const override { return m_size; }
    [[nodiscard]] std::uint64_t hash() const override { return m_endpoint->commHash(); }

    Status allReduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
        Stream& stream) override {
        return reduce(GD_RT_COMM_ALL_REDUCE, {send, receive, count, type}, op, stream);
    }
    Status reduceScatter(const void* send, void* receive, std::size_t receiveCount, DataType type,
        ReduceOp op, Stream& stream) override {
        return reduce(GD_RT_COMM_REDUCE_SCATTER, {send, receive, receiveCount, type}, op, stream);
    }
    Status allGather(
        const void* send, void* receive, std::size_t sendCount, DataType type, Stream& stream) override {
        return submit(argumentsFor(GD_RT_COMM_ALL_GATHER, {send, receive, sendCount, type}), stream);
    }
    Status broadcast(const void* send, void* receive, std::size_t count, DataType type, int root,
        Stream& stream) override {
        CommArguments arguments
            = argumentsFor(GD_RT_COMM_BROADCAST, {root == m_rank ? send : receive, receive, count, type});
        arguments.root = root;
        return root < 0 || root >= m_size ? Status::InvalidValue : submit(arguments, stream);
    }
    Status send(const void* data, std::size_t count, DataType type, int peer, Stream& stream) override {
        return message(argumentsFor(GD_RT_COMM_SEND, {data, nullptr, count, type}), peer, stream);
    }
    Status receive(void* data, std::size_t count, DataType type, int peer, Stream& stream) override {
        return message(argumentsFor(GD_RT_COMM_RECV, {nullptr, data, count, type}), peer, stream);
    }

    Status groupStart() override {
        runtime::host::ApiCall call({.api = GD_API_COMM_GROUP_START});
        if (m_grouping)
            return call.end(Status::InvalidValue);
        m_grouping = true;
        return call.end(Status::Success);
    }
    Status groupEnd() override;

    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, std::string& error) override;

    void abort() override {
        if (std::exchange(m_aborted, true))
            return;
        runtime::host::ApiCall call({.api = GD_API_COMM_ABORT});
        runtime::host::reportComm(GD_RT_DESTROYED, m_endpoint->commHash(), m_size, m_rank);
        static_cast<void>(m_endpoint->fail(
            "rank " + std::to_string(m_endpoint->jobRank(m_rank)) + " aborted the communicator"));
        static_cast<void>(call.end(Status::Success));
    }
    [[nodiscard]] std::string error() const override { return m_endpoint->error(); }
    [[nodiscard]] bool claimsLastWord() override {
        return m_endpoint->segment().header().spoken.exchange(1) == 0;
    }

private:
    struct Buffers {
        const void* send;
        void* receive;
        std::size_t count;
        DataType type;
    };
    struct Queued {
        CommArguments arguments;
        Stream* stream;
    };

    static CommArguments argumentsFor(std::uint32_t kind, const Buffers& buffers) {
        CommArguments arguments;
        arguments.kind = kind;
        arguments.dataType = static_cast<std::uint32_t>(buffers.type);
        arguments.count = buffers.count;
        arguments.send = buffers.send;
        arguments.receive = buffers.receive;
        arguments.messageBytes = buffers.count * sizeOf(buffers.type);
        return arguments;
    }

    Status submit(const CommArguments& arguments, Stream& stream) {
        const bool message = arguments.root >= 0 && arguments.kind != GD_RT_COMM_BROADCAST;
        const bool whole = message ? arguments.send != nullptr || arguments.receive != nullptr
                                   : arguments.send != nullptr && arguments.receive != nullptr;
        if (!whole || arguments.count == 0 || (m_grouping && !message))
            return Status::InvalidValue;
        return stream.enqueueComm({m_endpoint, arguments});
    }
    Status reduce(std::uint32_t kind, const Buffers& buffers, ReduceOp op, Stream& stream) {
        if (!reducible(buffers.type))
            return Status::NotSupported;
        CommArguments arguments = argumentsFor(kind, buffers);
        arguments.reduceOp = static_cast<std::uint32_t>(op);
        return submit(arguments, stream);
    }
    Status message(CommArguments arguments, int peer, Stream& stream) {
        if (peer < 0 || peer >= m_size || peer == m_rank)
            return Status::InvalidValue;
        arguments.root = peer;
        if (!m_grouping)
            return submit(arguments, stream);
        if (!m_queued.empty() && m_queued.front().stream != &stream)
            return Status::InvalidValue;
        m_queued.push_back({arguments, &stream});
        return Status::Success;
    }

    std::shared_ptr<ShmEndpoint> m_endpoint;
    int m_rank;
    int m_size;
    bool m_grouping = false;
    bool m_aborted = false;
    std::vector<Queued> m_queued;
};

Status ShmCommunicator::groupEnd() {
    runtime::host::ApiCall call({.api = GD_API_COMM_GROUP_END});
    if (!m_grouping)
        return call.end(Status::InvalidValue);
    m_grouping = false;
    std::vector<Queued> queued = std::move(m_queued);
    m_queued.clear();
    for (std::size_t i = 0; i < queued.size(); ++i) {
        queued[i].arguments.deferred = i + 1 < queued.size();
        if (const Status status = submit(queued[i].arguments, *queued[i].stream); !runtime::ok(status))
            return call.end(status);
    }
    return call.end(Status::Success);
}

// What a rank tells the others to make the groups; the leader of a group adds its segment's name.
struct SplitCard {
    std::int32_t color;
    std::int32_t key;
    std::int32_t rank;
    char name[116];
};

std::unique_ptr<Communicator> ShmCommunicator::split(int color, int key, std::string& error) {
    runtime::host::ApiCall call({.api = GD_API_COMM_INIT});
    const auto give = [&](std::unique_ptr<Communicator> made, bool good) {
        static_cast<void>(call.end(good ? Status::Success : Status::IllegalState));
        return made;
    };
    error.clear();
    std::vector<SplitCard> cards(static_cast<std::size_t>(m_size));
    const auto exchange = [&](const SplitCard& own) {
        CommArguments arguments
            = argumentsFor(GD_RT_COMM_ALL_GATHER, {&own, cards.data(), sizeof(SplitCard), DataType::Uint8});
        if (runtime::ok(m_endpoint->execute(arguments, false)))
            return true;
        error = m_endpoint->error();
        return false;
    };
    SplitCard own{color, key, m_rank, {}};
    if (!exchange(own))
        return give(nullptr, false);
    std::vector<SplitCard> members;
    std::copy_if(cards.begin(), cards.end(), std::back_inserter(members),
        [&](const SplitCard& card) { return color >= 0 && card.color == color; });
    std::sort(members.begin(), members.end(), [](const SplitCard& a, const SplitCard& b) {
        return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
    });
    const auto place = std::find_if(
        members.begin(), members.end(), [&](const SplitCard& card) { return card.rank == m_rank; });
    const int rank = static_cast<int>(place - members.begin());
    const int size = static_cast<int>(members.size());
    const ShmOptions& options = m_endpoint->options();
    std::vector<int> jobRanks;
    for (const SplitCard& member : members)
        jobRanks.push_back(m_endpoint->jobRank(member.rank));
    auto endpoint = std::make_shared<ShmEndpoint>(options, rank, std::move(jobRanks));
    ShmSegment& segment = endpoint->segment();
    bool good = true;
    if (size > 0 && rank == 0) {
        good = segment.create(size, options.slotBytes, options.channelBytes, error);
        std::strncpy(own.name, segment.name().c_str(), sizeof(own.name) - 1);
    }
    const std::string problem = error;
    if (!exchange(own) || !good || size == 0) {
        error = problem.empty() ? error : problem;
        return give(nullptr, size == 0 && error.empty());
    }
    const std::int64_t deadlineNs = monotonicNs() + options.startNs;
    const int leader = members.front().rank;
    if (rank != 0 && !segment.attach(cards[static_cast<std::size_t>(leader)].name)) {
        error = "rank " + std::to_string(m_endpoint->jobRank(leader)) + " of communicator " + options.name
            + " could not make a segment for a part of it";
        return give(nullptr, false);
    }
    const bool joined = segment.join(rank, size, deadlineNs, error);
    if (!joined)
        return give(nullptr, false);
    return give(std::make_unique<ShmCommunicator>(std::move(endpoint), rank, size), true);
}

} // namespace

std::unique_ptr<Communicator> createShmCommunicator(const ShmOptions& options, std::string& error) {
    runtime::host::attachTool();
    runtime::host::ApiCall call({.api = GD_API_COMM_INIT});
    std::vector<int> jobRanks(static_cast<std::size_t>(std::max(options.size, 0)));
    std::iota(jobRanks.begin(), jobRanks.end(), 0);
    auto endpoint = std::make_shared<ShmEndpoint>(options, options.rank, std::move(jobRanks));
    if (!meetInFolder(options, endpoint->segment(), error)) {
        static_cast<void>(call.end(Status::IllegalState));
        return nullptr;
    }
    auto communicator = std::make_unique<ShmCommunicator>(std::move(endpoint), options.rank, options.size);
    static_cast<void>(call.end(Status::Success));
    return communicator;
}

} // namespace gdt::comm
