// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin: one record per collective and point-to-point call, at the call (or its capture),
// never on a replay. Kernel-channel and proxy events stay off: measured, with them a captured all-reduce
// graph grows from 27 to 46 nodes and a replay from 88 to 169 us. Whatever happens here, NCCL is told that
// all is well.
#include "collector/cupti/stream_ids.h"
#include "collector/nccl/comm_call.h"
#include "collector/nccl/comm_table.h"
#include "collector/nccl/nccl_version.h"
#include "collector/nccl/nvtx_calls.h"
#include "collector/nccl/profiler_abi.h"
#include "collector/session/sink.h"

#include <atomic>
#include <cstring>

namespace gd::nccl {

namespace {

constexpr abi::Result kSuccess = 0;
constexpr int kMaxComms = 1024; ///< communicators a process can have before further ones go unrecorded

struct CommSlot {
    std::atomic<bool> used;
    std::atomic<bool> isReported; ///< its record has been written; one made while recording is off waits
    std::uint64_t hash;
    std::uint32_t nranks;
    std::uint32_t rank;
};

// Static, so that neither start nor end of a communicator allocates, and so that nothing is left to free at
// exit.
CommSlot g_comms[kMaxComms];
std::atomic<bool> g_toldUnknownType{false};

/// Handles given back to NCCL: groups carry their number, shifted so that no handle is NULL; calls need none.
void* handleOfGroup(std::uint64_t group) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(group << 1 | 1));
}

std::uint64_t groupOfHandle(void* handle) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return (value & 1) != 0 ? value >> 1 : 0;
}

gd_rt_comm describe(const CommSlot& comm) noexcept {
    gd_rt_comm described{};
    described.size = sizeof described;
    described.nranks = comm.nranks;
    described.rank = comm.rank;
    described.device = raw::kNoDevice;
    described.hash = comm.hash;
    return described;
}

/// NCCL asks once, when a communicator is made, which events are wanted: its life is followed also where
/// recording is off at that moment.
void reportCreated(CommSlot& comm) noexcept {
    if (session::sink::enabled() && !comm.isReported.exchange(true, std::memory_order_relaxed)) {
        session::sink::comm(GD_RT_CREATED, describe(comm), raw::CommSource::NcclPlugin);
    }
}

CommSlot* openComm(std::uint64_t hash, int ranks, int rank) noexcept {
    for (CommSlot& slot : g_comms) {
        bool expected = false;
        if (slot.used.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) {
            slot.hash = hash;
            slot.nranks = static_cast<std::uint32_t>(ranks);
            slot.rank = static_cast<std::uint32_t>(rank);
            setRanks(hash, slot.nranks);
            slot.isReported.store(false, std::memory_order_relaxed);
            reportCreated(slot);
            // The first record opens the spool: only now is it known whether there is one.
            if (session::sink::mayRecord()) {
                return &slot;
            }
            slot.used.store(false, std::memory_order_release);
            return nullptr;
        }
    }
    constexpr std::string_view kWhy
        = "more than 1024 NCCL communicators at once: calls on further ones are not recorded";
    session::sink::issue(raw::IssueSeverity::DataLoss, "too_many_communicators", kWhy);
    session::sink::coverage(raw::CoverageSource::nccl_plugin, raw::CoverageState::Partial, kWhy);
    return nullptr;
}

abi::Result closeComm(void* context) noexcept {
    if (auto* slot = static_cast<CommSlot*>(context); slot != nullptr) {
        if (slot->isReported.load(std::memory_order_relaxed)) {
            session::sink::comm(GD_RT_DESTROYED, describe(*slot), raw::CommSource::NcclPlugin);
        }
        slot->used.store(false, std::memory_order_release);
    }
    return kSuccess;
}

struct Call {
    const char* function;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint64_t stream; ///< 0 = unknown
    bool captured;
    std::uint64_t sequence;
    std::uint64_t group;
};

/// The call as the thread's open NVTX range names it, when that is the same one: it knows the peer, and that
/// several sends and receives are one all-to-all. False: the range's call has been recorded already.
bool nameByNvtx(const CommSlot& comm, gd_rt_comm_kind& kind, int& peer) noexcept {
    NvtxCall* range = openNvtxCall();
    if (range == nullptr || (range->hash != 0 && range->hash != comm.hash)) {
        return true;
    }
    const bool isPart = kind == GD_RT_COMM_SEND || kind == GD_RT_COMM_RECV;
    if (range->kind == GD_RT_COMM_ALL_TO_ALL && isPart) {
        if (range->isRecorded) {
            return false;
        }
        kind = GD_RT_COMM_ALL_TO_ALL;
    } else if (range->kind == kind && isPart && peer < 0) {
        peer = range->peer;
    }
    range->isRecorded = true;
    return true;
}

void report(const CommSlot& comm, const Call& call) noexcept {
    if (call.function == nullptr || call.datatype == nullptr) {
        return;
    }
    gd_rt_comm_kind kind = kindOf(call.function);
    int peer = call.peer;
    if (kind == 0 || !nameByNvtx(comm, kind, peer)) {
        return;
    }
    const int dtype = dtypeOf(call.datatype);
    if (dtype < 0) {
        if (!g_toldUnknownType.exchange(true)) {
            session::sink::issue(raw::IssueSeverity::DataLoss, "unknown_nccl_type",
                "NCCL reports a data type this version does not know: calls with it are not counted");
        }
        return;
    }
    gd_rt_comm_op op{};
    op.size = sizeof op;
    op.kind = kind;
    op.op = nextOp();
    op.hash = comm.hash;
    op.count = call.count;
    op.dtype = static_cast<std::uint32_t>(dtype);
    op.peer = peer;
    op.stream = call.stream;
    op.captured = call.captured ? 1 : 0;
    op.nranks = comm.nranks;
    op.seq = call.sequence;
    session::sink::commOp(op, raw::CommSource::NcclPlugin, call.group);
}

void announce() noexcept {
    session::sink::coverage(raw::CoverageSource::nccl_plugin, raw::CoverageState::Complete, "");
}

// Version 5
// -----------------------------------------------------------------------------------------------------------

abi::Result initV5(void** context, std::uint64_t commId, int* mask, const char*, int, int ranks, int rank,
    abi::LogFunction) noexcept {
    *mask = 0;
    *context = nullptr;
    if (!session::sink::mayRecord()) {
        return kSuccess;
    }
    reportVersion(__builtin_return_address(0));
    announce(); // before the communicator's own record, so that its whole life is covered
    *context = openComm(commId, ranks, rank);
    if (*context != nullptr) {
        *mask = static_cast<int>(abi::kGroupApi | abi::kCollApi | abi::kP2pApi);
    }
    return kSuccess;
}

abi::Result startV5(void* context, void** handle, abi::EventV5* event) noexcept {
    *handle = nullptr;
    if (event->type == abi::kGroupApi) {
        *handle = handleOfGroup(nextGroup());
        return kSuccess;
    }
    auto* comm = static_cast<CommSlot*>(context);
    if (comm == nullptr || !session::sink::enabled()) {
        return kSuccess;
    }
    reportCreated(*comm);
    const std::uint64_t group = groupOfHandle(event->parent);
    if (event->type == abi::kCollApi) {
        const auto& coll = event->collApi;
        report(*comm,
            {coll.func, coll.datatype, coll.count, hasRoot(coll.func) ? coll.root : -1,
                cupti::streamIdOf(coll.stream), coll.graphCaptured, 0, group});
    } else if (event->type == abi::kP2pApi) {
        const auto& p2p = event->p2pApi;
        report(*comm,
            {p2p.func, p2p.datatype, p2p.count, -1, cupti::streamIdOf(p2p.stream), p2p.graphCaptured, 0,
                group});
    }
    return kSuccess;
}

// Version 4
// -----------------------------------------------------------------------------------------------------------

abi::Result initV4(void** context, int* mask, const char*, std::uint64_t hash, int, int ranks, int rank,
    abi::LogFunction) noexcept {
    *mask = 0;
    *context = nullptr;
    if (!session::sink::mayRecord()) {
        return kSuccess;
    }
    reportVersion(__builtin_return_address(0));
    session::sink::coverage(raw::CoverageSource::nccl_plugin, raw::CoverageState::Partial,
        "version 4 of NCCL's profiler interface names no stream");
    *context = openComm(hash, ranks, rank);
    if (*context != nullptr) {
        *mask = static_cast<int>(abi::kGroup | abi::kColl | abi::kP2p);
    }
    return kSuccess;
}

abi::Result startV4(void* context, void** handle, abi::EventV4* event) noexcept {
    *handle = nullptr;
    if (event->type == abi::kGroup) {
        *handle = handleOfGroup(nextGroup());
        return kSuccess;
    }
    auto* comm = static_cast<CommSlot*>(context);
    if (comm == nullptr || !session::sink::enabled()) {
        return kSuccess;
    }
    reportCreated(*comm);
    // A version 4 event comes when NCCL plans the call, at the end of its group, and knows neither stream nor
    // capture. NVTX, which saw the call itself, does: its record is the better one.
    if (followedByNvtx(comm->hash)) {
        return kSuccess;
    }
    const std::uint64_t group = groupOfHandle(event->parent);
    // NCCL has asked for the capture state of the call's stream on this thread.
    const std::uint64_t stream = session::sink::askedStream();
    const bool captured
        = session::sink::openCaptures() != 0 && (stream == 0 || session::sink::captureOf(stream) != 0);
    if (event->type == abi::kColl) {
        const auto& coll = event->coll;
        report(*comm,
            {coll.func, coll.datatype, coll.count, hasRoot(coll.func) ? coll.root : -1, stream, captured,
                coll.seqNumber, group});
    } else if (event->type == abi::kP2p) {
        const auto& p2p = event->p2p;
        report(*comm, {p2p.func, p2p.datatype, p2p.count, p2p.peer, stream, captured, 0, group});
    }
    return kSuccess;
}

abi::Result stopEvent(void*) noexcept {
    return kSuccess;
}
abi::Result recordState(void*, int, void*) noexcept {
    return kSuccess;
}

} // namespace

} // namespace gd::nccl

extern "C" {

[[gnu::visibility("default")]] gd::nccl::abi::ProfilerV5 ncclProfiler_v5{"GraphDoctor", gd::nccl::initV5,
    gd::nccl::startV5, gd::nccl::stopEvent, gd::nccl::recordState, gd::nccl::closeComm};

[[gnu::visibility("default")]] gd::nccl::abi::ProfilerV4 ncclProfiler_v4{"GraphDoctor", gd::nccl::initV4,
    gd::nccl::startV4, gd::nccl::stopEvent, gd::nccl::recordState, gd::nccl::closeComm};
}
