// SPDX-License-Identifier: Apache-2.0
// NCCL's calls as its NVTX ranges show them: bytes, communicator, root or peer. Neither stream nor element
// type is in them. The stream is the one whose capture state NCCL asks for inside the call (it must know
// whether it is being captured); inside a group it asks once per communicator and stream, and all streams of
// a group are captured together or not at all (NVIDIA/nccl, src/enqueue.cc).
#include "collector/nccl/nvtx_calls.h"

#include "collector/nccl/comm_call.h"
#include "collector/nccl/comm_table.h"
#include "collector/session/sink.h"

#include <atomic>

namespace gd::nccl {

namespace {

namespace sink = session::sink;
using raw::CoverageSource;
using raw::CoverageState;

/// The stream that a communicator of the open group was last used on.
struct GroupStream {
    std::uint64_t hash;
    std::uint64_t stream;
};
constexpr unsigned kMaxGroupStreams = 8;

/// What this thread is in the middle of.
struct ThreadCalls {
    unsigned depth = 0; ///< open ranges of the domain
    unsigned callDepth = 0; ///< depth at which `call` was opened, 0 = none is open
    unsigned apiDepth = 0; ///< likewise for `api`
    unsigned groupDepth = 0; ///< ncclGroupStart without its ncclGroupEnd
    bool endsGroup = false; ///< the innermost range is ncclGroupEnd
    bool startsGroup = false;
    NvtxCall call{};
    CallFields fields{};
    gd_rt_api api{};
    bool isCreation = false;
    std::uint64_t group = 0;
    GroupStream streams[kMaxGroupStreams];
    unsigned streamCount = 0;
};
thread_local ThreadCalls t_calls;

/// What was last said of the source, so that it is said again only when it changes. 0 = nothing yet.
std::atomic<unsigned> g_told{0};

void tell(CoverageState state, std::string_view reason) noexcept {
    const unsigned value = static_cast<unsigned>(state) + 1;
    if (g_told.load(std::memory_order_relaxed) == value) {
        return;
    }
    // One call of a kind that cannot be followed makes the source partial for good.
    if (g_told.load(std::memory_order_relaxed) == static_cast<unsigned>(CoverageState::Partial) + 1) {
        return;
    }
    g_told.store(value, std::memory_order_relaxed);
    sink::coverage(CoverageSource::nccl_nvtx, state, reason);
}

std::uint16_t callKindOf(std::string_view name) noexcept {
    if (name == "ncclGather") {
        return raw::kGatherKind;
    }
    return name == "ncclScatter" ? raw::kScatterKind : static_cast<std::uint16_t>(kindOf(name));
}

gd_api_id lifeCallOf(std::string_view name) noexcept {
    if (name == "ncclCommDestroy" || name == "ncclCommFinalize") {
        return GD_API_COMM_DESTROY;
    }
    if (name == "ncclCommAbort") {
        return GD_API_COMM_ABORT;
    }
    constexpr std::string_view kInit = "ncclCommInit";
    const bool creates = name.substr(0, kInit.size()) == kInit || name == "ncclCommSplit"
        || name == "ncclCommShrink" || name == "ncclCommGrow";
    return creates ? GD_API_COMM_INIT : static_cast<gd_api_id>(0);
}

gd_rt_comm commOf(const CallFields& fields) noexcept {
    gd_rt_comm comm{};
    comm.size = sizeof comm;
    comm.hash = fields.comm;
    comm.nranks = fields.nranks;
    comm.rank = fields.rank >= 0 ? static_cast<std::uint32_t>(fields.rank) : 0;
    comm.device = fields.device >= 0 ? static_cast<std::uint32_t>(fields.device) : raw::kNoDevice;
    return comm;
}

void created(const CallFields& fields) noexcept {
    if (fields.comm == 0) {
        return; // inside a group it has no hash yet; its destruction tells ranks and rank
    }
    gd_rt_comm comm = commOf(fields);
    setFollowedByNvtx(comm.hash);
    if (fields.isChild) {
        comm.nranks = 0; // the parent's in NCCL 2.27 and 2.28
    } else if (fields.ndevices != 0) { // one rank for each device, all in this process
        comm.nranks = fields.ndevices;
        setRanks(comm.hash, comm.nranks);
        for (comm.rank = 0; comm.rank < comm.nranks; ++comm.rank) {
            sink::comm(GD_RT_CREATED, comm, raw::CommSource::NcclNvtx);
        }
        return;
    } else {
        setRanks(comm.hash, comm.nranks);
    }
    sink::comm(GD_RT_CREATED, comm, raw::CommSource::NcclNvtx);
}

void beginLifeCall(ThreadCalls& calls, gd_api_id id, const CallFields& fields) noexcept {
    calls.apiDepth = calls.depth;
    calls.isCreation = id == GD_API_COMM_INIT;
    calls.api = {};
    calls.api.size = sizeof calls.api;
    calls.api.api = id;
    sink::apiEnter(calls.api);
    if (!calls.isCreation && fields.comm != 0) {
        sink::comm(GD_RT_DESTROYED, commOf(fields), raw::CommSource::NcclNvtx);
    }
}

void beginCall(ThreadCalls& calls, std::uint16_t kind, const CallFields& fields) noexcept {
    calls.callDepth = calls.depth;
    calls.call = {kind, fields.comm, fields.root, fields.peer, false};
    calls.fields = fields;
    if (calls.groupDepth == 0 || calls.group == 0) {
        calls.group = nextGroup();
        calls.streamCount = 0;
    }
    if (fields.comm != 0 && setFollowedByNvtx(fields.comm) && ranksOf(fields.comm) == 0) {
        // Made in a group or by a split: NCCL gave it its hash after the range of that call.
        gd_rt_comm comm = commOf(fields);
        comm.nranks = 0;
        sink::comm(GD_RT_CREATED, comm, raw::CommSource::NcclNvtx);
    }
    sink::followStream();
}

/// The stream of a call that has just ended, 0 = unknown.
std::uint64_t streamOfCall(ThreadCalls& calls) noexcept {
    const std::uint64_t stream = sink::followedStream();
    GroupStream* known = nullptr;
    for (unsigned i = 0; i < calls.streamCount; ++i) {
        if (calls.streams[i].hash == calls.call.hash) {
            known = &calls.streams[i];
        }
    }
    if (stream == 0) {
        return known != nullptr ? known->stream : 0;
    }
    if (known == nullptr && calls.streamCount < kMaxGroupStreams) {
        known = &calls.streams[calls.streamCount++];
        known->hash = calls.call.hash;
    }
    if (known != nullptr) {
        known->stream = stream;
    }
    return stream;
}

void write(const ThreadCalls& calls, std::uint64_t stream) noexcept {
    gd_rt_comm_op op{};
    op.size = sizeof op;
    op.kind = calls.call.kind;
    op.op = nextOp();
    op.hash = calls.call.hash;
    op.count = calls.fields.bytes;
    op.dtype = raw::kByteDtype;
    op.peer = calls.call.peer >= 0 ? calls.call.peer : calls.call.root;
    op.stream = stream;
    op.captured = stream != 0 && sink::openCaptures() != 0 && sink::captureOf(stream) != 0 ? 1 : 0;
    op.nranks = ranksOf(op.hash);
    sink::commOp(op, raw::CommSource::NcclNvtx, calls.group);
}

void endCall(ThreadCalls& calls) noexcept {
    const std::uint64_t stream = streamOfCall(calls);
    calls.callDepth = 0;
    if (!calls.fields.isReadable || !calls.fields.hasBytes) {
        tell(
            CoverageState::Partial, "the payload of an NCCL call could not be read by its registered layout");
        return;
    }
    if (calls.call.hash == 0) {
        tell(CoverageState::Partial, "this NCCL names no communicator in its NVTX payloads");
    } else if (stream == 0 && ranksOf(calls.call.hash) != 1 && calls.fields.bytes != 0) {
        tell(CoverageState::Partial,
            "CUDA calls are not followed, so that captured NCCL calls look like eager ones");
    } else {
        tell(CoverageState::Complete, "");
    }
    if (!calls.call.isRecorded) {
        write(calls, stream);
    }
}

} // namespace

void CallFields::set(std::string_view name, std::uint64_t value) noexcept {
    const auto number = static_cast<std::int32_t>(value);
    if (name == "NCCL communicator ID") {
        comm = value;
    } else if (name == "Message size [bytes]" || name == "Bytes") {
        bytes = value;
        hasBytes = true;
    } else if (name == "Root") {
        root = number;
    } else if (name == "Peer rank") {
        peer = number;
    } else if (name == "No. of ranks") {
        nranks = static_cast<std::uint32_t>(value);
    } else if (name == "Rank") {
        rank = number;
    } else if (name == "CUDA device") {
        device = number;
    } else if (name == "No. of devices") {
        ndevices = static_cast<std::uint32_t>(value);
    } else if (name == "Parent NCCL communicator ID" || name == "num_exclude") {
        isChild = true;
    }
}

void rangePushed(std::string_view name, const CallFields& fields) noexcept {
    ThreadCalls& calls = t_calls;
    if (calls.depth++ == 0 && g_told.load(std::memory_order_relaxed) == 0 && !name.empty()) {
        tell(CoverageState::Complete,
            ""); // NCCL's ranges are seen; its first call tells whether they say enough
    }
    calls.startsGroup = calls.endsGroup = false;
    if (calls.callDepth != 0 || calls.apiDepth != 0) {
        return; // inside a call: what it is made of
    }
    if (name == "ncclGroupStart") {
        calls.startsGroup = true;
    } else if (name == "ncclGroupEnd" || name == "ncclGroupSimulateEnd") {
        calls.endsGroup = true;
    } else if (const gd_api_id life = lifeCallOf(name); life != 0) {
        beginLifeCall(calls, life, fields);
    } else if (const std::uint16_t kind = callKindOf(name); kind != 0) {
        beginCall(calls, kind, fields);
    }
}

void rangePopped(const CallFields& fields) noexcept {
    ThreadCalls& calls = t_calls;
    if (calls.depth == 0) {
        return; // recording began inside it
    }
    if (calls.callDepth == calls.depth) {
        endCall(calls);
    } else if (calls.apiDepth == calls.depth) {
        calls.apiDepth = 0;
        if (calls.isCreation) {
            created(fields);
        }
        sink::apiExit(calls.api, 0);
    } else if (calls.startsGroup) {
        if (calls.groupDepth++ == 0) {
            calls.group = 0;
        }
    } else if (calls.endsGroup && calls.groupDepth != 0 && --calls.groupDepth == 0) {
        calls.group = 0;
    }
    calls.startsGroup = calls.endsGroup = false;
    --calls.depth;
}

void restartNvtx() noexcept {
    g_told.store(0, std::memory_order_relaxed);
    sink::coverage(CoverageSource::nccl_nvtx, CoverageState::Absent, "no NCCL call was seen through NVTX");
}

NvtxCall* openNvtxCall() noexcept {
    return t_calls.callDepth != 0 ? &t_calls.call : nullptr;
}

} // namespace gd::nccl
