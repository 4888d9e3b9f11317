// SPDX-License-Identifier: Apache-2.0
// Device work, ranges and communication.
#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/session/range_path.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/stack_taker.h"

#include <cstring>

namespace gd::session::sink {

namespace {

raw::ShapeRef shapeOf(
    SessionState& session, const gd_rt_activity& work, const ActivityExtra& extra) noexcept {
    if (work.function == nullptr) {
        SpinGuard guard(session.graphLock);
        const raw::ShapeRef* known = session.nodeShapes.find(work.node);
        return known != nullptr ? *known : 0;
    }
    raw::KernelShape shape{};
    shape.name = session.strings.string(work.function);
    for (unsigned i = 0; i < 3; ++i) {
        shape.grid[i] = work.grid[i];
        shape.block[i] = work.block[i];
    }
    shape.staticSharedBytes = extra.staticSharedBytes;
    shape.dynamicSharedBytes = work.shared_bytes;
    shape.registers = extra.registers;
    return session.strings.shape(shape);
}

// What every activity record says in fields of the same names.
template <class Record> Record timed(const gd_rt_activity& work) noexcept {
    Record record{};
    record.startNs = work.start_ns;
    record.endNs = work.end_ns;
    record.correlation = work.correlation;
    record.stream = static_cast<std::uint32_t>(work.stream);
    record.device = static_cast<decltype(record.device)>(work.device);
    return record;
}

// The same for work that can be a node of a graph.
template <class Record> Record timedNode(const gd_rt_activity& work) noexcept {
    Record record = timed<Record>(work);
    record.node = work.node;
    record.exec = static_cast<std::uint32_t>(work.exec);
    return record;
}

void writeKernel(
    const Entry& entry, const gd_rt_activity& work, const ActivityExtra& extra, bool isComm) noexcept {
    auto record = timedNode<raw::Kernel>(work);
    record.shape = shapeOf(entry.session(), work, extra);
    record.isComm = isComm ? 1 : 0;
    entry.session().ring.append(entry.thread().lane, record);
}

void writeMemcpy(const Entry& entry, const gd_rt_activity& work, const ActivityExtra& extra) noexcept {
    auto record = timedNode<raw::Memcpy>(work);
    record.bytes = work.bytes;
    record.copyKind = static_cast<std::uint16_t>(work.copy_kind);
    record.srcKind = extra.srcKind;
    record.dstKind = extra.dstKind;
    entry.session().ring.append(entry.thread().lane, record);
}

void writeMemset(const Entry& entry, const gd_rt_activity& work, const ActivityExtra& extra) noexcept {
    auto record = timedNode<raw::Memset>(work);
    record.bytes = work.bytes;
    record.value = extra.value;
    entry.session().ring.append(entry.thread().lane, record);
}

void writeGraphTrace(const Entry& entry, const gd_rt_activity& work) noexcept {
    auto record = timed<raw::GraphTrace>(work);
    record.exec = work.exec;
    entry.session().ring.append(entry.thread().lane, record);
}

void writeSync(const Entry& entry, const gd_rt_activity& work, const ActivityExtra& extra) noexcept {
    auto record = timed<raw::Sync>(work);
    record.event = extra.event;
    record.type = extra.syncApi;
    entry.session().ring.append(entry.thread().lane, record);
}

std::uint64_t dtypeBytes(std::uint32_t dtype) noexcept {
    switch (dtype) {
    case GD_RT_INT8:
    case GD_RT_UINT8:
    case GD_RT_FLOAT8_E4M3:
    case GD_RT_FLOAT8_E5M2:
    case raw::kByteDtype:
        return 1;
    case GD_RT_FLOAT16:
    case GD_RT_BFLOAT16:
        return 2;
    case GD_RT_INT32:
    case GD_RT_UINT32:
    case GD_RT_FLOAT32:
        return 4;
    default:
        return 8;
    }
}

} // namespace

void activity(const gd_rt_activity& work) noexcept {
    activity(work, ActivityExtra{});
}

void activity(const gd_rt_activity& work, const ActivityExtra& extra) noexcept {
    const Entry entry;
    const raw::RecordingLevel level = publishedLevel();
    const bool whole = work.kind == GD_RT_ACTIVITY_GRAPH || work.kind == GD_RT_ACTIVITY_SYNC
        || work.kind == GD_RT_ACTIVITY_COMM;
    if (!entry || level < (whole ? raw::RecordingLevel::Light : raw::RecordingLevel::Standard)) {
        return;
    }
    switch (work.kind) {
    case GD_RT_ACTIVITY_KERNEL:
    case GD_RT_ACTIVITY_HOST_FUNC:
        writeKernel(entry, work, extra, extra.isComm);
        break;
    case GD_RT_ACTIVITY_COMM:
        writeKernel(entry, work, extra, true);
        break;
    case GD_RT_ACTIVITY_MEMCPY:
        writeMemcpy(entry, work, extra);
        break;
    case GD_RT_ACTIVITY_MEMSET:
        writeMemset(entry, work, extra);
        break;
    case GD_RT_ACTIVITY_GRAPH:
        writeGraphTrace(entry, work);
        break;
    case GD_RT_ACTIVITY_SYNC:
        writeSync(entry, work, extra);
        break;
    default:
        break;
    }
}

void range(const gd_rt_range& range) noexcept {
    sink::range(range, 0);
}

void range(const gd_rt_range& range, std::uint32_t color) noexcept {
    // Steps are known while the level is off as well: they tell what recording costs. And a range that was
    // opened before must not stay open.
    const Entry entry{AlsoWhenOff{}};
    const bool off = publishedLevel() == raw::RecordingLevel::Off;
    if (!entry || (off && range.op == GD_RT_RANGE_MARK)) {
        return;
    }
    SessionState& session = entry.session();
    ThreadState& thread = entry.thread();
    const char* name = range.name != nullptr ? range.name : "";
    raw::Range record{};
    record.timeNs = monotonicNs();
    record.payload = range.u64;
    record.domain = session.strings.string(range.domain != nullptr ? range.domain : "");
    record.name = nameOfTheJob(session, name);
    record.op = static_cast<std::uint8_t>(range.op);
    record.color = color;
    // NCCL's own ranges name its calls, not the job's regions: they are no part of range paths.
    const bool isNccl = range.domain != nullptr && std::strcmp(range.domain, "NCCL") == 0;
    bool isStep = false;
    if (isNccl) {
        // recorded, nothing more
    } else if (range.op == GD_RT_RANGE_PUSH) {
        const RangeRole role = roleOf(session, record.name, name);
        isStep = role.isStep;
        pushRange(session, thread, record.domain, record.name, name, role);
        if (isStep) {
            session.openSteps.fetch_add(1, std::memory_order_relaxed);
        }
    } else if (range.op == GD_RT_RANGE_POP) {
        isStep = popRange(session, thread, record.domain);
        if (isStep) {
            session.openSteps.fetch_sub(1, std::memory_order_relaxed);
            stepEnded(session, thread);
        }
    } else if (range.op == GD_RT_RANGE_START) {
        beginUnbound(session, range.u64, roleOf(session, record.name, name));
    } else if (range.op == GD_RT_RANGE_END) {
        endUnbound(session, range.u64);
    }
    if (isStep) {
        raw::setThread(record, thread.lane.thread);
        session.ring.appendHistory(record);
    } else if (!off) {
        session.ring.append(thread.lane, record);
    }
}

void comm(gd_rt_life life, const gd_rt_comm& comm, raw::CommSource source) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    ThreadState& thread = entry.thread();
    OpenCall* call = openCall(thread);
    const std::int64_t nowNs = monotonicNs();
    if (life == GD_RT_CREATED && !session.commSeen.exchange(true, std::memory_order_relaxed)) {
        // A stretch without device activity ends now, not up to a tick later beside a communicator in use.
        session.keeperWake.store(1, std::memory_order_release);
        wakeAll(session.keeperWake);
    }
    raw::Comm record{};
    record.startNs = call != nullptr ? call->startNs : nowNs;
    record.endNs = nowNs;
    record.hash = comm.hash;
    record.nranks = comm.nranks;
    record.rank = comm.rank;
    record.life = static_cast<std::uint16_t>(life);
    record.source = static_cast<std::uint16_t>(source);
    record.device = static_cast<std::uint16_t>(comm.device);
    record.thread = thread.lane.thread;
    record.stack = stackOfCall(session, thread);
    if (life == GD_RT_DESTROYED && call != nullptr
        && (call->api == GD_API_COMM_DESTROY || call->api == GD_API_COMM_ABORT)) {
        record.endNs = 0; // it may hang: the exit of the call writes the second record
        call->commHash = comm.hash;
    }
    session.ring.appendHistory(record);
}

void commOp(const gd_rt_comm_op& op, raw::CommSource source, std::uint64_t group) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    ThreadState& thread = entry.thread();
    raw::CommOp record{};
    record.timeNs = monotonicNs();
    record.op = op.op;
    record.hash = op.hash;
    record.count = op.count;
    const std::uint64_t factor = op.kind == GD_RT_COMM_ALL_TO_ALL ? op.nranks : 1;
    record.messageBytes = op.count * dtypeBytes(op.dtype) * factor;
    record.sequence = op.seq;
    record.group = group;
    record.stream = static_cast<std::uint32_t>(op.stream);
    record.thread = thread.lane.thread;
    record.peer = op.peer;
    record.kind = static_cast<std::uint16_t>(op.kind);
    record.dtype = static_cast<std::uint16_t>(op.dtype);
    record.source = static_cast<std::uint16_t>(source);
    if (op.captured != 0) {
        record.capture = captureOf(op.stream);
        record.stack = stackOfCall(session, thread);
        session.ring.appendHistory(record);
        return;
    }
    if (wantsBlockingStack(session, static_cast<std::uint16_t>(0x100 + op.kind), record.timeNs)) {
        record.stack = stackOfCall(session, thread);
    }
    session.ring.append(thread.lane, record);
}

} // namespace gd::session::sink
