// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/record_decoder.h"

#include <algorithm>
#include <cstring>

namespace gd::importer {
namespace {

using raw::RecordKind;

// The walk has compared the record's size with the struct's.
template <class R> R as(const RecordView& record) {
    R value;
    std::memcpy(&value, record.data, sizeof value);
    return value;
}

std::int64_t wordAt(const RecordView& record, std::size_t offset) {
    std::int64_t value = 0;
    std::memcpy(&value, record.data + offset, sizeof value);
    return value;
}

// A hostile or damaged length must not make us allocate more than the longest string that is worth keeping.
constexpr std::uint32_t kMaxStringBytes = 16 << 20;

} // namespace

void RecordDecoder::addChunk(const Chunk& chunk, const std::string& fileName) {
    const bool history = chunk.header.lane == static_cast<std::uint8_t>(raw::Lane::History);
    const raw::ThreadRef thread = chunk.header.thread;
    SequenceTracker& sequences = history ? m_process.historySequences : m_process.eventSequences[thread];
    const WalkProblems problems = walkRecords(chunk, [&](const RecordView& record) {
        // In the event lane the first field is always a time.
        if (!sequences.add(record.header.sequence, history ? 0 : wordAt(record, 8)))
            return;
        ++m_process.records;
        if (history)
            addHistory(record);
        else
            addEvent(record, thread);
    });
    if (history)
        m_process.historyHoles += problems.holes;
    m_process.unknownKinds += problems.unknownKinds;
    if (problems.brokenAt >= 0) {
        m_issues.dataLoss("damaged_record", 1,
            fmt::format(
                "{}: the record at byte {} does not fit into its chunk; the rest of that chunk is left "
                "out",
                fileName,
                chunk.position + sizeof(raw::ChunkHeader) + static_cast<std::uint64_t>(problems.brokenAt)));
    }
}

void RecordDecoder::noteTime(std::int64_t timeNs) {
    if (timeNs <= 0)
        return;
    m_process.firstNs = m_process.firstNs == 0 ? timeNs : std::min(m_process.firstNs, timeNs);
    m_process.lastNs = std::max(m_process.lastNs, timeNs);
}

void RecordDecoder::addEvent(const RecordView& record, raw::ThreadRef thread) {
    RawProcess& p = m_process;
    switch (static_cast<RecordKind>(record.header.kind)) {
    case RecordKind::Kernel: {
        const auto kernel = as<raw::Kernel>(record);
        noteTime(kernel.endNs);
        p.kernels.rowsOf(kernel.device, kernel.stream)
            .push({kernel.startNs, kernel.endNs, kernel.node, kernel.correlation, kernel.shape, kernel.exec});
        return;
    }
    case RecordKind::ApiCall: {
        const auto call = as<raw::ApiCall>(record);
        noteTime(call.startNs);
        noteTime(call.endNs);
        const raw::ThreadRef own = raw::threadOf(call);
        p.threadEvents[own != 0 ? own : thread].calls.push(call);
        return;
    }
    case RecordKind::ApiEnter: {
        const auto enter = as<raw::ApiEnter>(record);
        noteTime(enter.startNs);
        p.threadEvents[thread].enters.push(enter);
        return;
    }
    case RecordKind::Range: {
        const auto range = as<raw::Range>(record);
        noteTime(range.timeNs);
        const raw::ThreadRef own = raw::threadOf(range);
        p.threadEvents[own != 0 ? own : thread].ranges.push(range);
        return;
    }
    case RecordKind::Memcpy: {
        const auto copy = as<raw::Memcpy>(record);
        noteTime(copy.endNs);
        p.copies.rowsOf(copy.device, copy.stream).push(copy);
        return;
    }
    case RecordKind::Memset: {
        const auto fill = as<raw::Memset>(record);
        noteTime(fill.endNs);
        p.fills.rowsOf(fill.device, fill.stream).push(fill);
        return;
    }
    case RecordKind::GraphTrace:
        p.graphTraces.push_back(as<raw::GraphTrace>(record));
        noteTime(p.graphTraces.back().endNs);
        return;
    case RecordKind::Sync: {
        const auto sync = as<raw::Sync>(record);
        noteTime(sync.endNs);
        p.syncs.rowsOf(sync.device, sync.stream).push(sync);
        return;
    }
    case RecordKind::Counter:
        p.counters.push_back(as<raw::Counter>(record));
        noteTime(p.counters.back().timeNs);
        return;
    case RecordKind::CommOp:
        p.commOps.push_back(as<raw::CommOp>(record));
        if (p.commOps.back().thread == 0)
            p.commOps.back().thread = thread;
        noteTime(p.commOps.back().timeNs);
        return;
    default:
        // A collector may put any record into any lane.
        addHistory(record);
    }
}

void RecordDecoder::addHistory(const RecordView& record) {
    RawProcess& p = m_process;
    switch (static_cast<RecordKind>(record.header.kind)) {
    case RecordKind::Kernel:
    case RecordKind::Memcpy:
    case RecordKind::Memset:
    case RecordKind::GraphTrace:
    case RecordKind::Sync:
    case RecordKind::Counter:
    case RecordKind::CommOp:
    case RecordKind::ApiCall:
    case RecordKind::ApiEnter:
    case RecordKind::Range:
        return addEvent(record, 0);
    case RecordKind::Context:
        p.contexts.push_back(as<raw::Context>(record));
        return noteTime(p.contexts.back().timeNs);
    case RecordKind::Stream:
        p.streams.push_back(as<raw::Stream>(record));
        return noteTime(p.streams.back().timeNs);
    case RecordKind::Event:
        p.events.push_back(as<raw::Event>(record));
        return noteTime(p.events.back().timeNs);
    case RecordKind::Device:
        p.devices.push_back(as<raw::Device>(record));
        return;
    case RecordKind::Alloc:
        p.allocs.push_back(as<raw::Alloc>(record));
        return noteTime(p.allocs.back().timeNs);
    case RecordKind::Free:
        p.frees.push_back(as<raw::Free>(record));
        return noteTime(p.frees.back().timeNs);
    case RecordKind::MemoryPool:
        p.pools.push_back(as<raw::MemoryPool>(record));
        return noteTime(p.pools.back().timeNs);
    case RecordKind::MemorySample:
        p.memorySamples.push_back(as<raw::MemorySample>(record));
        return noteTime(p.memorySamples.back().timeNs);
    case RecordKind::FrameworkBlock:
        p.blocks.push_back(as<raw::FrameworkBlock>(record));
        return noteTime(p.blocks.back().timeNs);
    case RecordKind::Comm:
        p.comms.push_back(as<raw::Comm>(record));
        return noteTime(std::max(p.comms.back().startNs, p.comms.back().endNs));
    case RecordKind::KernelShape: {
        const auto shape = as<raw::KernelShape>(record);
        p.shapes.insert_or_assign(shape.shape, shape);
        return;
    }
    default:
        return addGraphRecord(record);
    }
}

void RecordDecoder::addGraphRecord(const RecordView& record) {
    RawProcess& p = m_process;
    switch (static_cast<RecordKind>(record.header.kind)) {
    case RecordKind::CaptureBegin:
        p.captureBegins.push_back(as<raw::CaptureBegin>(record));
        return noteTime(p.captureBegins.back().timeNs);
    case RecordKind::CaptureJoin:
        p.captureJoins.push_back(as<raw::CaptureJoin>(record));
        return noteTime(p.captureJoins.back().timeNs);
    case RecordKind::CaptureFail:
        p.captureFails.push_back(as<raw::CaptureFail>(record));
        return noteTime(p.captureFails.back().endNs);
    case RecordKind::CaptureEnd:
        p.captureEnds.push_back(as<raw::CaptureEnd>(record));
        return noteTime(p.captureEnds.back().endNs);
    case RecordKind::ThreadCaptureMode:
        p.captureModes.push_back(as<raw::ThreadCaptureMode>(record));
        return noteTime(p.captureModes.back().timeNs);
    case RecordKind::Graph:
        p.graphs.push_back(as<raw::Graph>(record));
        return noteTime(p.graphs.back().timeNs);
    case RecordKind::GraphNode:
        p.nodes.push_back(as<raw::GraphNode>(record));
        return noteTime(p.nodes.back().timeNs);
    case RecordKind::GraphEdge:
        p.edges.push_back(as<raw::GraphEdge>(record));
        return;
    case RecordKind::GraphExec:
        p.execs.push_back(as<raw::GraphExec>(record));
        return noteTime(p.execs.back().endNs);
    case RecordKind::NodeKernel:
        p.nodeKernels.push_back(as<raw::NodeKernel>(record));
        return;
    case RecordKind::NodePointer:
        p.nodePointers.push_back(as<raw::NodePointer>(record));
        return;
    case RecordKind::NodeScalar:
        p.nodeScalars.push_back(as<raw::NodeScalar>(record));
        return;
    case RecordKind::NodeMemory:
        p.nodeMemories.push_back(as<raw::NodeMemory>(record));
        return;
    case RecordKind::EagerLaunch:
        p.eagerLaunches.push_back(as<raw::EagerLaunch>(record));
        return noteTime(p.eagerLaunches.back().timeNs);
    case RecordKind::ScalarSet:
        return addScalars(record);
    default:
        return addProcessRecord(record);
    }
}

void RecordDecoder::addProcessRecord(const RecordView& record) {
    RawProcess& p = m_process;
    switch (static_cast<RecordKind>(record.header.kind)) {
    case RecordKind::ProcessStart:
        if (!p.start)
            p.start = as<raw::ProcessStart>(record);
        return noteTime(p.start->timeNs);
    case RecordKind::ProcessEnd:
        p.end = as<raw::ProcessEnd>(record);
        return noteTime(p.end->timeNs);
    case RecordKind::ProcessFact:
        p.facts.push_back(as<raw::ProcessFact>(record));
        return;
    case RecordKind::EnvVar:
        p.envVars.push_back(as<raw::EnvVar>(record));
        return;
    case RecordKind::Thread:
        p.threads.push_back(as<raw::Thread>(record));
        return noteTime(p.threads.back().timeNs);
    case RecordKind::Module:
        p.modules.push_back(as<raw::Module>(record));
        return;
    case RecordKind::String:
        return addString(record);
    case RecordKind::Stack:
        return addStack(record);
    case RecordKind::SchedulingNoise:
        p.noise.push_back(as<raw::SchedulingNoise>(record));
        return;
    case RecordKind::Coverage:
        p.coverage.push_back(as<raw::Coverage>(record));
        return noteTime(p.coverage.back().timeNs);
    case RecordKind::Loss:
        p.losses.push_back(as<raw::Loss>(record));
        return;
    case RecordKind::Issue:
        p.issues.push_back(as<raw::Issue>(record));
        return;
    case RecordKind::ControlState:
        p.controlStates.push_back(as<raw::ControlState>(record));
        return noteTime(p.controlStates.back().timeNs);
    default:
        return;
    }
}

void RecordDecoder::addString(const RecordView& record) {
    const auto part = as<raw::String>(record);
    const bool fits = sizeof part + part.bytes <= record.bytes && part.totalBytes <= kMaxStringBytes
        && std::uint64_t{part.offset} + part.bytes <= part.totalBytes;
    if (!fits) {
        m_issues.dataLoss("damaged_string", 1,
            fmt::format("string {}: part {} of {} bytes at {} does not fit into {} bytes", part.id, part.part,
                part.bytes, part.offset, part.totalBytes));
        return;
    }
    StringParts& string = m_process.strings[part.id];
    if (string.text.size() < part.offset + std::size_t{part.bytes})
        string.text.resize(part.offset + std::size_t{part.bytes});
    std::memcpy(string.text.data() + part.offset, record.data + sizeof part, part.bytes);
    string.received += part.bytes;
}

void RecordDecoder::addScalars(const RecordView& record) {
    const auto set = as<raw::ScalarSet>(record);
    const std::size_t bytes = set.count * sizeof(raw::ScalarWord);
    if (sizeof set + bytes > record.bytes) {
        m_issues.dataLoss("damaged_scalars", 1,
            fmt::format(
                "launch scalars {}: {} words do not fit into {} bytes", set.id, set.count, record.bytes));
        return;
    }
    std::vector<raw::ScalarWord>& words = m_process.scalarSets[set.id];
    words.resize(set.count);
    if (bytes != 0)
        std::memcpy(words.data(), record.data + sizeof set, bytes);
}

void RecordDecoder::addStack(const RecordView& record) {
    const auto stack = as<raw::Stack>(record);
    const std::size_t nativeBytes = stack.nativeCount * sizeof(std::uint64_t);
    const std::size_t pythonBytes = stack.pythonCount * sizeof(raw::PythonFrame);
    if (sizeof stack + nativeBytes + pythonBytes > record.bytes) {
        m_issues.dataLoss("damaged_stack", 1,
            fmt::format("stack {}: {} native and {} Python frames do not fit into {} bytes", stack.id,
                stack.nativeCount, stack.pythonCount, record.bytes));
        return;
    }
    StackRecord& kept = m_process.stacks[stack.id];
    kept.native.resize(stack.nativeCount);
    kept.python.resize(stack.pythonCount);
    const std::byte* tail = record.data + sizeof stack;
    if (nativeBytes != 0)
        std::memcpy(kept.native.data(), tail, nativeBytes);
    if (pythonBytes != 0)
        std::memcpy(kept.python.data(), tail + nativeBytes, pythonBytes);
}

} // namespace gd::importer
