// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_communicator.h"

#include "comm/nccl_library.h"
#include "comm/shm_rendezvous.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace gdt::comm {

namespace {

using runtime::Status;

std::uint64_t fnv(std::uint64_t hash, const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i)
        hash = (hash ^ byte[i]) * 0x100000001b3U;
    return hash;
}

ncclDataType_t typeOf(DataType type) {
    return static_cast<ncclDataType_t>(type);
}

cudaStream_t streamOf(const runtime::Stream& stream) {
    return static_cast<cudaStream_t>(stream.native());
}

class NcclCommunicator final : public Communicator {
public:
    NcclCommunicator(ncclComm_t handle, int rank, int size, std::uint64_t hash)
        : m_handle(handle)
        , m_rank(rank)
        , m_size(size)
        , m_hash(hash) { }
    ~NcclCommunicator() override {
        if (m_handle != nullptr)
            static_cast<void>(nccl().destroy(m_handle));
    }

    [[nodiscard]] int rank() const override { return m_rank; }
    [[nodiscard]] int size() const override { return m_size; }
    [[nodiscard]] std::uint64_t hash() const override { return m_hash; }

    Status allReduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
        runtime::Stream& stream) override {
        return note("all-reduce",
            nccl().allReduce(send, receive, count, typeOf(type), static_cast<ncclRedOp_t>(op), m_handle,
                streamOf(stream)));
    }
    Status reduceScatter(const void* send, void* receive, std::size_t receiveCount, DataType type,
        ReduceOp op, runtime::Stream& stream) override {
        return note("reduce-scatter",
            nccl().reduceScatter(send, receive, receiveCount, typeOf(type), static_cast<ncclRedOp_t>(op),
                m_handle, streamOf(stream)));
    }
    Status allGather(const void* send, void* receive, std::size_t sendCount, DataType type,
        runtime::Stream& stream) override {
        return note("all-gather",
            nccl().allGather(send, receive, sendCount, typeOf(type), m_handle, streamOf(stream)));
    }
    Status broadcast(const void* send, void* receive, std::size_t count, DataType type, int root,
        runtime::Stream& stream) override {
        return note("broadcast",
            nccl().broadcast(send, receive, count, typeOf(type), root, m_handle, streamOf(stream)));
    }
    Status send(
        const void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override {
        return note("send", nccl().send(data, count, typeOf(type), peer, m_handle, streamOf(stream)));
    }
    Status receive(void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override {
        return note("receive", nccl().receive(data, count, typeOf(type), peer, m_handle, streamOf(stream)));
    }
    Status groupStart() override { return note("group start", nccl().groupStart()); }
    Status groupEnd() override { return note("group end", nccl().groupEnd()); }

    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, std::string& error) override;
    void abort() override;
    [[nodiscard]] std::string error() const override;

private:
    Status note(const char* operation, ncclResult_t result);

    ncclComm_t m_handle;
    int m_rank;
    int m_size;
    std::uint64_t m_hash;
    std::uint64_t m_splits = 0;
    mutable std::mutex m_mutex;
    std::string m_error;
};

std::string describe(int rank, const char* operation, ncclResult_t result) {
    const char* detail = nccl().lastError(nullptr);
    std::string text
        = "rank " + std::to_string(rank) + ", NCCL " + operation + ": " + nccl().errorString(result);
    if (detail != nullptr && *detail != '\0')
        text += std::string(" (") + detail + ")";
    return text;
}

Status NcclCommunicator::note(const char* operation, ncclResult_t result) {
    if (result == ncclSuccess)
        return Status::Success;
    std::lock_guard lock(m_mutex);
    if (m_error.empty())
        m_error = describe(m_rank, operation, result);
    return Status::LaunchFailed;
}

// NCCL names no split; the number of the split and its color do, alike on all members.
std::unique_ptr<Communicator> NcclCommunicator::split(int color, int key, std::string& error) {
    error.clear();
    ncclComm_t part = nullptr;
    const ncclResult_t result
        = nccl().split(m_handle, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, &part, nullptr);
    const std::uint64_t number = ++m_splits;
    if (result != ncclSuccess) {
        error = describe(m_rank, "split", result);
        return nullptr;
    }
    if (part == nullptr)
        return nullptr;
    int rank = 0;
    int size = 0;
    if (nccl().userRank(part, &rank) != ncclSuccess || nccl().count(part, &size) != ncclSuccess) {
        error = describe(m_rank, "split", ncclInternalError);
        return nullptr;
    }
    const std::uint64_t hash = fnv(fnv(m_hash, &number, sizeof(number)), &color, sizeof(color));
    return std::make_unique<NcclCommunicator>(part, rank, size, hash);
}

void NcclCommunicator::abort() {
    std::lock_guard lock(m_mutex);
    if (m_handle == nullptr)
        return;
    static_cast<void>(nccl().abort(m_handle));
    m_handle = nullptr;
    if (m_error.empty())
        m_error = "rank " + std::to_string(m_rank) + " aborted the communicator";
}

std::string NcclCommunicator::error() const {
    std::lock_guard lock(m_mutex);
    ncclResult_t result = ncclSuccess;
    const bool asked
        = m_error.empty() && m_handle != nullptr && nccl().asyncError(m_handle, &result) == ncclSuccess;
    if (asked && result != ncclSuccess && result != ncclInProgress)
        return describe(m_rank, "operation", result);
    return m_error;
}

// NCCL refuses two ranks of one host on one GPU, but not two hosts. Their traffic then goes over the loopback
// interface. Variables that the user has set stay.
void shareGpu(int rank) {
    ::setenv("NCCL_HOSTID", ("reference-trainer-" + std::to_string(rank)).c_str(), 0);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    ::setenv("NCCL_NET", "Socket", 0);
    ::setenv("NCCL_IB_DISABLE", "1", 0);
}

// Rank 0 leaves NCCL's id in its slot of a shared-memory segment, which also sees a rank that ends early.
bool meet(const NcclOptions& options, ncclUniqueId& id, std::string& error) {
    ShmOptions shared;
    shared.folder = options.folder;
    shared.name = "nccl";
    shared.rank = options.rank;
    shared.size = options.size;
    shared.timeoutNs = options.timeoutNs;
    shared.slotBytes = sizeof(id);
    shared.channelBytes = 64;
    ShmSegment segment;
    if (!meetInFolder(shared, segment, error))
        return false;
    const auto posted = [&](int rank) -> std::atomic<std::uint32_t>& { return segment.card(rank).posted; };
    if (options.rank == 0) {
        if (const ncclResult_t result = nccl().getUniqueId(&id); result != ncclSuccess) {
            error = describe(0, "id", result);
            return false;
        }
        std::memcpy(segment.slot(0), &id, sizeof(id));
        posted(0).store(1, std::memory_order_release);
    }
    const std::int64_t deadlineNs = monotonicNs() + options.timeoutNs;
    while (posted(0).load(std::memory_order_acquire) == 0) {
        if (!segment.alive(0) || monotonicNs() > deadlineNs) {
            error = "rank 0 gave no NCCL id";
            return false;
        }
        pauseMs(1);
    }
    std::memcpy(&id, segment.slot(0), sizeof(id));
    // Everybody has read it before the first one unmaps the segment and its lock goes.
    posted(options.rank).store(2, std::memory_order_release);
    for (int rank = 0; rank < options.size; ++rank) {
        while (posted(rank).load(std::memory_order_acquire) != 2 && segment.alive(rank)
            && monotonicNs() < deadlineNs)
            pauseMs(1);
    }
    return true;
}

} // namespace

std::unique_ptr<Communicator> createNcclCommunicator(const NcclOptions& options, std::string& error) {
    if (options.size > options.gpus)
        shareGpu(options.rank);
    if (!nccl().problem.empty()) {
        error = nccl().problem;
        return nullptr;
    }
    ncclUniqueId id{};
    if (!meet(options, id, error))
        return nullptr;
    if (cudaSetDevice(options.gpu) != cudaSuccess) {
        error = "GPU " + std::to_string(options.gpu) + " cannot be used";
        return nullptr;
    }
    ncclComm_t handle = nullptr;
    const ncclResult_t result = nccl().initRank(&handle, options.size, id, options.rank);
    if (result != ncclSuccess) {
        error = describe(options.rank, "start", result);
        return nullptr;
    }
    const std::uint64_t hash = fnv(0xcbf29ce484222325U, &id, sizeof(id));
    return std::make_unique<NcclCommunicator>(handle, options.rank, options.size, hash);
}

} // namespace gdt::comm
