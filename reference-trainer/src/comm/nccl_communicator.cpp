// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_communicator.h"

#include "collector/api/graphdoctor_runtime.h"
#include "comm/nccl_parts.h"
#include "comm/shm_rendezvous.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

namespace gdt::comm {

namespace {

using runtime::Status;

constexpr std::int64_t kStartNs = 60'000'000'000; // that the library may take to connect the ranks

std::uint64_t fnv(std::uint64_t hash, const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i)
        hash = (hash ^ byte[i]) * 0x100000001b3U;
    return hash;
}

ncclDataType_t typeOf(DataType type) {
    return static_cast<ncclDataType_t>(type);
}

ncclRedOp_t opOf(ReduceOp op) {
    return static_cast<ncclRedOp_t>(op);
}

cudaStream_t streamOf(const runtime::Stream& stream) {
    return static_cast<cudaStream_t>(stream.native());
}

class NcclCommunicator final : public Communicator {
public:
    NcclCommunicator(const NcclParts& parts, std::shared_ptr<CommWatch> watch)
        : m_nccl(parts.nccl)
        , m_handle(parts.handle)
        , m_rank(parts.rank)
        , m_size(parts.size)
        , m_hash(parts.hash)
        , m_watch(std::move(watch)) {
        std::vector<int> ranks(static_cast<std::size_t>(m_size));
        std::iota(ranks.begin(), ranks.end(), 0);
        m_member = m_watch->add("world", std::move(ranks), [this] { return libraryError(); });
    }
    ~NcclCommunicator() override {
        m_watch->remove(m_member);
        const runtime::WatchedCall call("ncclCommDestroy");
        if (m_handle != nullptr)
            static_cast<void>(m_nccl.destroy(m_handle));
    }

    [[nodiscard]] int rank() const override { return m_rank; }
    [[nodiscard]] int size() const override { return m_size; }
    [[nodiscard]] std::uint64_t hash() const override { return m_hash; }
    void identify(const std::string& name, const std::vector<int>& jobRanks) override {
        m_watch->identify(*m_member, name, jobRanks);
    }

    Status allReduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
        runtime::Stream& stream) override {
        return run({"ncclAllReduce", argumentsOf(GD_RT_COMM_ALL_REDUCE, count, type, op)}, stream, [&] {
            return m_nccl.allReduce(send, receive, count, typeOf(type), opOf(op), m_handle, streamOf(stream));
        });
    }
    Status reduceScatter(const void* send, void* receive, std::size_t receiveCount, DataType type,
        ReduceOp op, runtime::Stream& stream) override {
        return run({"ncclReduceScatter", argumentsOf(GD_RT_COMM_REDUCE_SCATTER, receiveCount, type, op)},
            stream, [&] {
                return m_nccl.reduceScatter(
                    send, receive, receiveCount, typeOf(type), opOf(op), m_handle, streamOf(stream));
            });
    }
    Status allGather(const void* send, void* receive, std::size_t sendCount, DataType type,
        runtime::Stream& stream) override {
        return run({"ncclAllGather", argumentsOf(GD_RT_COMM_ALL_GATHER, sendCount, type)}, stream, [&] {
            return m_nccl.allGather(send, receive, sendCount, typeOf(type), m_handle, streamOf(stream));
        });
    }
    Status broadcast(const void* send, void* receive, std::size_t count, DataType type, int root,
        runtime::Stream& stream) override {
        return run({"ncclBroadcast", argumentsOf(GD_RT_COMM_BROADCAST, count, type, ReduceOp::Sum, root)},
            stream, [&] {
                return m_nccl.broadcast(send, receive, count, typeOf(type), root, m_handle, streamOf(stream));
            });
    }
    Status send(
        const void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override {
        return run({"ncclSend", argumentsOf(GD_RT_COMM_SEND, count, type, ReduceOp::Sum, peer)}, stream,
            [&] { return m_nccl.send(data, count, typeOf(type), peer, m_handle, streamOf(stream)); });
    }
    Status receive(void* data, std::size_t count, DataType type, int peer, runtime::Stream& stream) override {
        return run({"ncclRecv", argumentsOf(GD_RT_COMM_RECV, count, type, ReduceOp::Sum, peer)}, stream,
            [&] { return m_nccl.receive(data, count, typeOf(type), peer, m_handle, streamOf(stream)); });
    }
    Status groupStart() override;
    Status groupEnd() override;

    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, std::string& error) override;
    void abort() override;
    [[nodiscard]] std::string error() const override;
    void leave() override { m_watch->leave(); }

private:
    struct Call {
        const char* name;
        runtime::CommArguments arguments;
    };

    static runtime::CommArguments argumentsOf(
        std::uint32_t kind, std::size_t count, DataType type, ReduceOp op = ReduceOp::Sum, int root = -1) {
        runtime::CommArguments arguments;
        arguments.kind = kind;
        arguments.dataType = static_cast<std::uint32_t>(type);
        arguments.reduceOp = static_cast<std::uint32_t>(op);
        arguments.root = root;
        arguments.count = count;
        return arguments;
    }

    // Outside a group the library queues, and may wait, in its call for the operation; else in groupEnd().
    template <class F> Status run(const Call& call, runtime::Stream& stream, const F& function) {
        m_watch->begin(*m_member, call.arguments, stream.capturing(), std::exchange(m_where, {}));
        m_stream = &stream;
        ncclResult_t result = ncclSuccess;
        {
            const runtime::WatchedCall watched(call.name);
            result = function();
        }
        return m_grouping && result == ncclSuccess ? Status::Success : ended(call.name, result);
    }
    Status ended(const char* call, ncclResult_t result);
    [[nodiscard]] std::string describe(const char* call, ncclResult_t result) const;
    [[nodiscard]] std::string libraryError() const;

    const Nccl& m_nccl;
    ncclComm_t m_handle;
    int m_rank;
    int m_size;
    std::uint64_t m_hash;
    std::uint64_t m_splits = 0;
    std::shared_ptr<CommWatch> m_watch;
    CommWatch::Member* m_member = nullptr;
    bool m_grouping = false;
    const runtime::Stream* m_stream = nullptr; // of the last operation
    mutable std::mutex m_mutex;
    std::string m_error;
};

std::string sentence(const Nccl& nccl, const std::string& who, const char* call, ncclResult_t result) {
    const char* detail = nccl.lastError(nullptr);
    std::string text = who + call + ": " + nccl.errorString(result);
    if (detail != nullptr && *detail != '\0')
        text += std::string(" (") + detail + ")";
    return text;
}

std::string NcclCommunicator::describe(const char* call, ncclResult_t result) const {
    return sentence(m_nccl, "communicator " + m_member->name + ", ", call, result);
}

// What the library did with the operations since begin(), or groupStart().
Status NcclCommunicator::ended(const char* call, ncclResult_t result) {
    if (result == ncclSuccess) {
        if (m_stream != nullptr)
            m_watch->queued(*m_member, *m_stream);
        m_stream = nullptr;
        return Status::Success;
    }
    m_watch->failed(*m_member);
    std::lock_guard lock(m_mutex);
    if (m_error.empty())
        m_error = describe(call, result);
    return Status::LaunchFailed;
}

Status NcclCommunicator::groupStart() {
    m_grouping = true;
    m_stream = nullptr;
    return ended("ncclGroupStart", m_nccl.groupStart());
}

Status NcclCommunicator::groupEnd() {
    m_grouping = false;
    ncclResult_t result = ncclSuccess;
    {
        const runtime::WatchedCall watched("ncclGroupEnd");
        result = m_nccl.groupEnd();
    }
    return ended("ncclGroupEnd", result);
}

// NCCL names no split; the number of the split and its color do, alike on all members.
std::unique_ptr<Communicator> NcclCommunicator::split(int color, int key, std::string& error) {
    error.clear();
    ncclComm_t part = nullptr;
    ncclResult_t result = ncclSuccess;
    {
        const runtime::WatchedCall watched("ncclCommSplit", kStartNs);
        result = m_nccl.split(m_handle, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, &part, nullptr);
    }
    const std::uint64_t number = ++m_splits;
    if (result != ncclSuccess) {
        error = describe("ncclCommSplit", result);
        return nullptr;
    }
    if (part == nullptr)
        return nullptr;
    NcclParts parts{m_nccl, part, 0, 0, fnv(fnv(m_hash, &number, sizeof(number)), &color, sizeof(color))};
    if (m_nccl.userRank(part, &parts.rank) != ncclSuccess || m_nccl.count(part, &parts.size) != ncclSuccess) {
        error = describe("ncclCommSplit", ncclInternalError);
        return nullptr;
    }
    return std::make_unique<NcclCommunicator>(parts, m_watch);
}

// The handle goes first: the library's call may wait for graphs that hold operations of the communicator.
void NcclCommunicator::abort() {
    ncclComm_t handle = nullptr;
    {
        std::lock_guard lock(m_mutex);
        handle = std::exchange(m_handle, nullptr);
        if (handle != nullptr && m_error.empty())
            m_error = "rank " + std::to_string(m_member->jobRanks[static_cast<std::size_t>(m_rank)])
                + " aborted the communicator";
    }
    const runtime::WatchedCall watched("ncclCommAbort");
    if (handle != nullptr)
        static_cast<void>(m_nccl.abort(handle));
}

std::string NcclCommunicator::libraryError() const {
    std::lock_guard lock(m_mutex);
    ncclResult_t result = ncclSuccess;
    if (m_handle == nullptr || m_nccl.asyncError(m_handle, &result) != ncclSuccess)
        return {};
    return result == ncclSuccess || result == ncclInProgress ? std::string() : describe("operation", result);
}

std::string NcclCommunicator::error() const {
    std::string text = libraryError();
    std::lock_guard lock(m_mutex);
    return m_error.empty() ? text : m_error;
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
    shared.agreement = options.agreement;
    shared.rank = options.rank;
    shared.size = options.size;
    shared.startNs = options.startNs;
    shared.slotBytes = sizeof(id);
    shared.channelBytes = 64;
    ShmSegment segment;
    if (!meetInFolder(shared, segment, error))
        return false;
    const auto posted = [&](int rank) -> std::atomic<std::uint32_t>& { return segment.card(rank).posted; };
    if (options.rank == 0) {
        if (const ncclResult_t result = nccl().getUniqueId(&id); result != ncclSuccess) {
            error = sentence(nccl(), "", "ncclGetUniqueId", result);
            return false;
        }
        std::memcpy(segment.slot(0), &id, sizeof(id));
        posted(0).store(1, std::memory_order_release);
    }
    const std::int64_t deadlineNs = monotonicNs() + options.startNs;
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

// An event. Asked in relaxed mode: no capture of another thread forbids the question.
class CudaMarker final : public Marker {
public:
    explicit CudaMarker(int gpu)
        : m_gpu(gpu) { }
    ~CudaMarker() override {
        if (m_event != nullptr)
            static_cast<void>(cudaEventDestroy(m_event));
    }
    CudaMarker(const CudaMarker&) = delete;
    CudaMarker& operator=(const CudaMarker&) = delete;

    bool set(const runtime::Stream& stream) override {
        const bool made
            = m_event != nullptr || cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming) == cudaSuccess;
        return made && cudaEventRecord(m_event, streamOf(stream)) == cudaSuccess;
    }
    bool passed() override {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        static_cast<void>(cudaSetDevice(m_gpu));
        static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
        const bool waits = cudaEventQuery(m_event) == cudaErrorNotReady;
        static_cast<void>(cudaGetLastError());
        static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
        return !waits;
    }

private:
    int m_gpu;
    cudaEvent_t m_event = nullptr;
};

std::shared_ptr<CommWatch> watchFor(const NcclOptions& options) {
    CommWatchOptions watched;
    watched.rank = options.rank;
    watched.timeoutNs = options.timeoutNs;
    watched.makeMarker = [gpu = options.gpu] { return std::make_shared<CudaMarker>(gpu); };
    watched.end = [rank = options.rank](const std::string& sentence) { endProcess(rank, sentence); };
    auto watch = std::make_shared<CommWatch>(std::move(watched));
    watch->start();
    return watch;
}

} // namespace

std::unique_ptr<Communicator> wrapNccl(const NcclParts& parts, std::shared_ptr<CommWatch> watch) {
    return std::make_unique<NcclCommunicator>(parts, std::move(watch));
}

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
    std::shared_ptr<CommWatch> watch = watchFor(options);
    ncclComm_t handle = nullptr;
    ncclResult_t result = ncclSuccess;
    {
        const runtime::WatchedCall watched("ncclCommInitRank", kStartNs);
        result = nccl().initRank(&handle, options.size, id, options.rank);
    }
    if (result != ncclSuccess) {
        error = sentence(nccl(), "", "ncclCommInitRank", result);
        return nullptr;
    }
    const std::uint64_t hash = fnv(0xcbf29ce484222325U, &id, sizeof(id));
    return wrapNccl({nccl(), handle, options.rank, options.size, hash}, std::move(watch));
}

} // namespace gdt::comm
