// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_communicator.h"

#include "comm/shm_segment.h"
#include "runtime/comm_call.h"
#include "runtime/host/report_to_tool.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace gdt::comm {

namespace {

using runtime::CommArguments;
using runtime::Status;
using runtime::host::nowNs;

std::string describe(const Signature& signature) {
    const char* type
        = signature.dataType == static_cast<std::uint32_t>(DataType::Float32) ? "float32" : "float64";
    return "all-reduce of " + std::to_string(signature.count) + " " + type
        + (signature.captured != 0 ? ", in a graph," : ", not in a graph,") + " as operation "
        + std::to_string(signature.operation);
}

/// Runs operations over the segment. Operations of several streams run one after the other.
class ShmEndpoint final : public runtime::CommEndpoint {
public:
    explicit ShmEndpoint(const ShmOptions& options)
        : m_rank(options.rank)
        , m_size(options.size)
        , m_timeoutNs(options.timeoutNs) { }

    [[nodiscard]] bool open(const ShmOptions& options, std::string& error) {
        return m_segment.open(options, error);
    }

    Status execute(const CommArguments& arguments, bool captured) override;
    [[nodiscard]] std::uint64_t commHash() const override { return m_segment.header().hash; }
    [[nodiscard]] std::uint32_t commRanks() const override { return static_cast<std::uint32_t>(m_size); }

    Status fail(const std::string& reason);
    [[nodiscard]] std::string error() const;

private:
    template <class T> Status allReduce(const CommArguments& arguments, bool captured);
    Status post(const Signature& signature, const void* data, std::size_t bytes);
    Status awaitPeers();
    template <class Done> Status waitUntil(const Signature& signature, const Done& done);

    int m_rank;
    int m_size;
    std::int64_t m_timeoutNs;
    ShmSegment m_segment;
    std::mutex m_running;
    std::uint64_t m_round = 0;
    std::uint64_t m_operation = 0;
    mutable std::mutex m_errorMutex;
    std::string m_error;
};

Status ShmEndpoint::fail(const std::string& reason) {
    SegmentHeader& header = m_segment.header();
    std::uint32_t none = 0;
    if (header.failed.compare_exchange_strong(none, 1)) {
        const std::size_t length = std::min(reason.size(), sizeof(header.reason) - 1);
        std::memcpy(header.reason, reason.data(), length);
        header.reason[length] = '\0';
        header.failed.store(2, std::memory_order_release);
        m_segment.ring();
    }
    std::lock_guard lock(m_errorMutex);
    if (m_error.empty())
        m_error = reason;
    return Status::LaunchFailed;
}

std::string ShmEndpoint::error() const {
    std::lock_guard lock(m_errorMutex);
    return m_error;
}

// `done(rank)` says whether that rank has come so far.
template <class Done> Status ShmEndpoint::waitUntil(const Signature& signature, const Done& done) {
    const std::int64_t deadlineNs = nowNs() + m_timeoutNs;
    SegmentHeader& header = m_segment.header();
    while (true) {
        const std::uint32_t seen = header.bell.load(std::memory_order_acquire);
        if (header.failed.load(std::memory_order_acquire) == 2)
            return fail(header.reason);
        int missing = 0;
        while (missing < m_size && done(missing))
            ++missing;
        if (missing == m_size)
            return Status::Success;
        const std::string who = "rank " + std::to_string(missing);
        const std::string what
            = "rank " + std::to_string(m_rank) + " waited for it in " + describe(signature);
        // Looked at again: the peer may have come, and ended, since the first look.
        if (!m_segment.alive(missing) && !done(missing))
            return fail(who + " has ended; " + what);
        if (nowNs() > deadlineNs)
            return fail(
                who + " did not come within " + std::to_string(m_timeoutNs / 1'000'000) + " ms; " + what);
        m_segment.sleepUnlessRung(seen);
    }
}

// The slot may be written again once everybody has read the round before.
Status ShmEndpoint::post(const Signature& signature, const void* data, std::size_t bytes) {
    const std::uint64_t previous = m_round;
    GDT_TRY(waitUntil(signature,
        [&](int rank) { return m_segment.card(rank).consumed.load(std::memory_order_acquire) >= previous; }));
    RankCard& card = m_segment.card(m_rank);
    std::memcpy(m_segment.slot(m_rank), data, bytes);
    card.signature = signature;
    m_round = previous + 1;
    card.posted.store(m_round, std::memory_order_release);
    m_segment.ring();
    return Status::Success;
}

Status ShmEndpoint::awaitPeers() {
    const Signature& own = m_segment.card(m_rank).signature;
    GDT_TRY(waitUntil(own,
        [&](int rank) { return m_segment.card(rank).posted.load(std::memory_order_acquire) >= m_round; }));
    for (int rank = 0; rank < m_size; ++rank) {
        const Signature& other = m_segment.card(rank).signature;
        if (!(other == own)) {
            return fail("ranks disagree: rank " + std::to_string(m_rank) + " runs " + describe(own)
                + "; rank " + std::to_string(rank) + " runs " + describe(other));
        }
    }
    return Status::Success;
}

template <class T> Status ShmEndpoint::allReduce(const CommArguments& arguments, bool captured) {
    Signature signature;
    signature.operation = m_operation;
    signature.count = arguments.count;
    signature.kind = arguments.kind;
    signature.dataType = arguments.dataType;
    signature.reduceOp = arguments.reduceOp;
    signature.root = arguments.root;
    signature.captured = captured ? 1U : 0U;
    const auto* send = static_cast<const T*>(arguments.send);
    auto* receive = static_cast<T*>(arguments.receive);
    const std::uint64_t slotCount = m_segment.header().slotBytes / sizeof(T);
    for (std::uint64_t first = 0; first < arguments.count; first += slotCount) {
        const std::uint64_t count = std::min(slotCount, arguments.count - first);
        GDT_TRY(post(signature, send + first, count * sizeof(T)));
        GDT_TRY(awaitPeers());
        std::memcpy(receive + first, m_segment.slot(0), count * sizeof(T));
        for (int rank = 1; rank < m_size; ++rank) {
            const auto* part = reinterpret_cast<const T*>(m_segment.slot(rank));
            for (std::uint64_t i = 0; i < count; ++i)
                receive[first + i] += part[i];
        }
        m_segment.card(m_rank).consumed.store(m_round, std::memory_order_release);
        m_segment.ring();
    }
    return Status::Success;
}

Status ShmEndpoint::execute(const CommArguments& arguments, bool captured) {
    std::lock_guard lock(m_running);
    ++m_operation;
    if (arguments.dataType == static_cast<std::uint32_t>(DataType::Float32))
        return allReduce<float>(arguments, captured);
    return allReduce<double>(arguments, captured);
}

class ShmCommunicator final : public Communicator {
public:
    ShmCommunicator(std::shared_ptr<ShmEndpoint> endpoint, const ShmOptions& options)
        : m_endpoint(std::move(endpoint))
        , m_rank(options.rank)
        , m_size(options.size) {
        runtime::host::reportComm(GD_RT_CREATED, m_endpoint->commHash(), m_size, m_rank);
    }
    ~ShmCommunicator() override {
        runtime::host::ApiCall call({.api = GD_API_COMM_DESTROY});
        runtime::host::reportComm(GD_RT_DESTROYED, m_endpoint->commHash(), m_size, m_rank);
        static_cast<void>(call.end(Status::Success));
    }

    [[nodiscard]] int rank() const override { return m_rank; }
    [[nodiscard]] int size() const override { return m_size; }
    [[nodiscard]] std::uint64_t hash() const override { return m_endpoint->commHash(); }

    Status allReduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
        runtime::Stream& stream) override {
        if (send == nullptr || receive == nullptr || count == 0)
            return Status::InvalidValue;
        CommArguments arguments;
        arguments.kind = GD_RT_COMM_ALL_REDUCE;
        arguments.dataType = static_cast<std::uint32_t>(type);
        arguments.reduceOp = static_cast<std::uint32_t>(op);
        arguments.count = count;
        arguments.send = send;
        arguments.receive = receive;
        arguments.messageBytes = count * sizeOf(type);
        return stream.enqueueComm({m_endpoint, arguments});
    }

    void abort() override {
        runtime::host::ApiCall call({.api = GD_API_COMM_ABORT});
        static_cast<void>(m_endpoint->fail("rank " + std::to_string(m_rank) + " aborted the communicator"));
        static_cast<void>(call.end(Status::Success));
    }
    [[nodiscard]] std::string error() const override { return m_endpoint->error(); }

private:
    std::shared_ptr<ShmEndpoint> m_endpoint;
    int m_rank;
    int m_size;
};

} // namespace

std::unique_ptr<Communicator> createShmCommunicator(const ShmOptions& options, std::string& error) {
    runtime::host::attachTool();
    runtime::host::ApiCall call({.api = GD_API_COMM_INIT});
    auto endpoint = std::make_shared<ShmEndpoint>(options);
    if (!endpoint->open(options, error)) {
        static_cast<void>(call.end(Status::IllegalState));
        return nullptr;
    }
    auto communicator = std::make_unique<ShmCommunicator>(std::move(endpoint), options);
    static_cast<void>(call.end(Status::Success));
    return communicator;
}

} // namespace gdt::comm
