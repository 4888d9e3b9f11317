// SPDX-License-Identifier: Apache-2.0
// Graphs, nodes, executables and what a node's parameters point to.
#include "collector/raw/records_graph.h"
#include "collector/session/range_path.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/stack_taker.h"

#include <cstring>

namespace gd::session::sink {

namespace {

constexpr std::uint16_t kDestinationParam = 0xfffe;
constexpr std::uint16_t kSourceParam = 0xffff;
/// By-value structures of some kilobytes exist; their words beyond this many a node are left out.
constexpr unsigned kMaxScalarsPerNode = 256;

bool inCaptureCall(ThreadState& thread) noexcept {
    const OpenCall* call = openCall(thread);
    return call != nullptr
        && (call->api == GD_API_STREAM_BEGIN_CAPTURE || call->api == GD_API_STREAM_END_CAPTURE
            || call->api == GD_API_STREAM_BEGIN_CAPTURE_TO_GRAPH);
}

/// Somebody will ask where the work of such a node comes from. The others only order it.
bool isWork(std::uint32_t type) noexcept {
    return type != GD_RT_NODE_EMPTY && type != GD_RT_NODE_WAIT_EVENT && type != GD_RT_NODE_EVENT_RECORD;
}

/// The live allocation that holds `address`, marked as referenced by a node. False: none.
bool findAllocation(SessionState& session, std::uint64_t address, LiveRange& found) noexcept {
    SpinGuard guard(session.memoryLock);
    LiveRange* driver = session.driverMemory.find(address);
    LiveRange* block = session.frameworkMemory.find(address);
    if (driver != nullptr) {
        driver->referenced = 1;
    }
    if (block != nullptr) {
        block->referenced = 1;
    }
    LiveRange* range = block != nullptr ? block : driver;
    if (range != nullptr) {
        found = *range;
    }
    return range != nullptr;
}

bool isLive(SessionState& session, std::uint64_t address) noexcept {
    if (address == 0) {
        return false;
    }
    SpinGuard guard(session.memoryLock);
    return session.driverMemory.find(address) != nullptr || session.frameworkMemory.find(address) != nullptr;
}

bool isExec(SessionState& session, std::uint64_t graph) noexcept {
    SpinGuard guard(session.graphLock);
    return session.execs.find(graph) != nullptr;
}

/// Kind of the driver allocation behind an address, 0 = unknown.
std::uint16_t memoryKind(SessionState& session, std::uint64_t address) noexcept {
    SpinGuard guard(session.memoryLock);
    const LiveRange* range = session.driverMemory.find(address);
    return range != nullptr ? range->kind : std::uint16_t{0};
}

bool writePointer(SessionState& session, std::uint64_t node, std::uint64_t address, std::uint16_t param,
    std::uint16_t offset) noexcept {
    LiveRange range{};
    if (address == 0 || !findAllocation(session, address, range)) {
        return false;
    }
    raw::NodePointer record{};
    record.node = node;
    record.address = address;
    record.allocation = range.allocation;
    record.param = param;
    record.offset = offset;
    session.ring.appendHistory(record);
    return true;
}

/// Parameters of at most so many bytes come first: among them are the numbers that programs pass, while large
/// structures (lists of tensors, index calculators) may alone have more words than are kept.
constexpr std::uint32_t kSmallParameter = 64;

template <class Use>
void eachWordOf(const gd_rt_node_params& params, std::uint32_t index, const Use& use) noexcept {
    const gd_rt_param& param = params.params[index];
    const char* data = static_cast<const char*>(params.param_data) + param.offset;
    for (std::uint32_t at = 0; at < param.bytes; at += 8) {
        const std::uint32_t bytes = param.bytes - at < 8 ? param.bytes - at : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, data + at, bytes);
        use(word, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(at), bytes);
    }
}

/// Calls `use` for each 8-byte step of each parameter, small ones first: use(word, param, offset, bytes).
template <class Use> void eachParameterWord(const gd_rt_node_params& params, Use use) noexcept {
    std::uint32_t known = 0; // parameters that lie within the data
    while (known < params.param_count
        && std::uint64_t{params.params[known].offset} + params.params[known].bytes
            <= params.param_data_bytes) {
        ++known;
    }
    for (const bool small : {true, false}) {
        for (std::uint32_t i = 0; i < known; ++i) {
            if ((params.params[i].bytes <= kSmallParameter) == small) {
                eachWordOf(params, i, use);
            }
        }
    }
}

void writeParameterWords(SessionState& session, const gd_rt_node_params& params) noexcept {
    unsigned scalars = 0;
    eachParameterWord(params,
        [&](std::uint64_t word, std::uint16_t param, std::uint16_t offset, std::uint32_t bytes) noexcept {
            if (bytes == 8 && writePointer(session, params.node, word, param, offset)) {
                return;
            }
            if (++scalars > kMaxScalarsPerNode) {
                return;
            }
            raw::NodeScalar record{};
            record.node = params.node;
            record.value = word;
            record.param = param;
            record.offset = offset;
            record.bytes = static_cast<std::uint16_t>(bytes);
            session.ring.appendHistory(record);
        });
}

raw::ShapeRef shapeOf(SessionState& session, const gd_rt_node_params& params) noexcept {
    raw::KernelShape shape{};
    shape.name = session.strings.string(params.function != nullptr ? params.function : "");
    for (unsigned i = 0; i < 3; ++i) {
        shape.grid[i] = params.grid[i];
        shape.block[i] = params.block[i];
    }
    shape.dynamicSharedBytes = params.shared_bytes;
    return session.strings.shape(shape);
}

// Nodes of a graph go with it, without a word for each: a job that captures at every step must not grow.
constexpr std::size_t kMaxNodeShapes = 1 << 20;

void writeKernelNode(SessionState& session, const gd_rt_node_params& params) noexcept {
    raw::NodeKernel record{};
    record.node = params.node;
    record.shape = shapeOf(session, params);
    record.paramBytes = static_cast<std::uint32_t>(params.param_data_bytes);
    record.paramCount = params.param_count;
    record.readable = params.param_data != nullptr || params.param_count == 0 ? 1 : 0;
    {
        SpinGuard guard(session.graphLock);
        if (raw::ShapeRef* known = session.nodeShapes.insertAmong(params.node, kMaxNodeShapes);
            known != nullptr) {
            *known = record.shape;
        }
    }
    session.ring.appendHistory(record);
    if (params.param_data != nullptr && params.params != nullptr) {
        writeParameterWords(session, params);
    }
}

void writeMemoryNode(SessionState& session, const gd_rt_node_params& params) noexcept {
    raw::NodeMemory record{};
    record.node = params.node;
    record.dst = params.dst;
    record.src = params.src;
    record.bytes = params.bytes;
    record.commOp = params.comm_op;
    record.type = static_cast<std::uint16_t>(params.type);
    record.copyKind = static_cast<std::uint16_t>(params.copy_kind);
    record.value = params.value;
    record.name = session.strings.string(params.function != nullptr ? params.function : "");
    const bool hasHostSource = params.copy_kind == GD_RT_COPY_HTOD || params.copy_kind == GD_RT_COPY_HTOH;
    const bool hasHostTarget = params.copy_kind == GD_RT_COPY_DTOH || params.copy_kind == GD_RT_COPY_HTOH;
    record.srcKind = memoryKind(session, params.src);
    record.dstKind = memoryKind(session, params.dst);
    // Host memory that no call of the runtime made or registered is ordinary, pageable memory.
    if (record.srcKind == 0 && hasHostSource) {
        record.srcKind = GD_RT_MEMORY_HOST_PAGEABLE;
    }
    if (record.dstKind == 0 && hasHostTarget) {
        record.dstKind = GD_RT_MEMORY_HOST_PAGEABLE;
    }
    session.ring.appendHistory(record);
    if (params.type != GD_RT_NODE_HOST) {
        writePointer(session, params.node, params.dst, kDestinationParam, 0);
        writePointer(session, params.node, params.src, kSourceParam, 0);
    }
}

} // namespace

void graph(gd_rt_life life, const gd_rt_graph& graph) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    raw::Graph record{};
    record.timeNs = monotonicNs();
    record.graph = graph.graph;
    record.originGraph = graph.origin_graph;
    record.life = static_cast<std::uint16_t>(life);
    raw::GraphOrigin origin = life == GD_RT_CLONED ? raw::GraphOrigin::Clone : raw::GraphOrigin::Create;
    if (life == GD_RT_CREATED && inCaptureCall(entry.thread())) {
        origin = raw::GraphOrigin::Capture;
        record.capture = captureOf(openCall(entry.thread())->stream);
    }
    record.origin = static_cast<std::uint16_t>(origin);
    if (life != GD_RT_DESTROYED) {
        record.stack = stackOfNode(session, entry.thread(), false, record.timeNs);
    }
    {
        SpinGuard guard(session.graphLock);
        if (life == GD_RT_DESTROYED) {
            session.graphs.erase(graph.graph);
        } else if (GraphNote* note = session.graphs.insert(graph.graph); note != nullptr) {
            note->capture = record.capture;
            const GraphNote* from = session.graphs.find(graph.origin_graph);
            note->nodes = from != nullptr && life == GD_RT_CLONED ? from->nodes : note->nodes;
        }
    }
    session.ring.appendHistory(record);
}

void node(gd_rt_life life, const gd_rt_node& node, bool inExec) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    ThreadState& thread = entry.thread();
    const OpenCall* call = openCall(thread);
    raw::GraphNode record{};
    record.timeNs = monotonicNs();
    record.node = node.node;
    record.graph = node.graph;
    record.origin = node.origin_node;
    record.parentNode = node.parent_node;
    record.thread = thread.lane.thread;
    record.life = static_cast<std::uint16_t>(life);
    record.type = static_cast<std::uint16_t>(node.type);
    inExec = inExec || isExec(session, node.graph);
    if (life == GD_RT_CREATED && !inExec && isWork(node.type)) {
        record.stack = stackOfNode(session, thread, node.type == GD_RT_NODE_KERNEL, record.timeNs);
    } else {
        record.stack = call != nullptr ? call->stack : 0;
    }
    const std::uint64_t stream = node.stream != 0 ? node.stream : call != nullptr ? call->stream : 0;
    if (life == GD_RT_CREATED && session.openCaptures.load(std::memory_order_relaxed) != 0) {
        SpinGuard guard(session.captureLock);
        record.capture = session.captures.nodeCreated(stream);
    }
    if (record.capture != 0 || node.stream != 0) {
        record.stream = static_cast<std::uint32_t>(stream);
    }
    if (life == GD_RT_CREATED) {
        record.rangePath = rangePath(session, thread);
    }
    {
        SpinGuard guard(session.graphLock);
        GraphNote* note = inExec ? session.execs.find(node.graph) : session.graphs.find(node.graph);
        if (note != nullptr) {
            note->nodes += life == GD_RT_CREATED || (inExec && life == GD_RT_CLONED) ? 1u : 0u;
            note->nodes -= life == GD_RT_DESTROYED && note->nodes != 0 ? 1u : 0u;
        }
        if (life == GD_RT_DESTROYED) {
            session.nodeShapes.erase(node.node);
        } else if (const raw::ShapeRef* shape = session.nodeShapes.find(node.origin_node); shape != nullptr) {
            const raw::ShapeRef copied = *shape;
            if (raw::ShapeRef* own = session.nodeShapes.insertAmong(node.node, kMaxNodeShapes);
                own != nullptr) {
                *own = copied;
            }
        }
    }
    record.inExec = inExec ? 1 : 0;
    session.ring.appendHistory(record);
}

void edge(const gd_rt_edge& edge) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    raw::GraphEdge record{};
    record.graph = edge.graph;
    record.fromNode = edge.from_node;
    record.toNode = edge.to_node;
    entry.session().ring.appendHistory(record);
}

void exec(gd_rt_life life, const gd_rt_exec& exec, bool traceable) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    ThreadState& thread = entry.thread();
    raw::GraphExec record{};
    record.endNs = monotonicNs();
    const OpenCall* call = openCall(thread);
    record.startNs = call != nullptr ? call->startNs : record.endNs;
    record.exec = exec.exec;
    record.graph = exec.graph;
    record.thread = thread.lane.thread;
    record.stack
        = life == GD_RT_DESTROYED ? (call != nullptr ? call->stack : 0) : stackOfCall(session, thread);
    record.result = static_cast<std::int16_t>(exec.result);
    record.life = static_cast<std::uint16_t>(life);
    record.flags = exec.flags;
    record.traceable = traceable ? 1 : 0;
    record.updateResult = static_cast<std::uint16_t>(exec.update_result);
    {
        SpinGuard guard(session.graphLock);
        if (life == GD_RT_DESTROYED) {
            session.execs.erase(exec.exec);
        } else {
            const GraphNote* from = session.graphs.find(exec.graph);
            record.nodes = from != nullptr ? from->nodes : 0;
            GraphNote* note = exec.result == 0 ? session.execs.insert(exec.exec) : nullptr;
            if (life != GD_RT_UPDATED && exec.result == 0) {
                session.framework.execs.fetch_add(1, std::memory_order_relaxed);
            }
            if (note != nullptr && from != nullptr) {
                note->capture = from->capture;
            }
        }
    }
    session.ring.appendHistory(record);
}

void nodeParams(const gd_rt_node_params& params) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    if (params.type == GD_RT_NODE_KERNEL) {
        writeKernelNode(entry.session(), params);
    } else {
        writeMemoryNode(entry.session(), params);
    }
}

void eagerLaunch(const gd_rt_node_params& params, std::uint64_t stream) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    raw::EagerLaunch record{};
    record.timeNs = monotonicNs();
    record.stream = stream;
    record.shape = shapeOf(session, params);
    record.thread = entry.thread().lane.thread;
    record.rangePath = rangePath(session, entry.thread());
    if (params.param_data != nullptr && params.params != nullptr) {
        raw::ScalarWord words[Interner::kMaxScalarWords];
        unsigned count = 0;
        bool isCut = false;
        eachParameterWord(params,
            [&](std::uint64_t word, std::uint16_t param, std::uint16_t offset, std::uint32_t bytes) noexcept {
                if (bytes == 8 && isLive(session, word)) {
                    return;
                }
                isCut = count == Interner::kMaxScalarWords;
                if (!isCut) {
                    words[count++] = {word, param, offset, static_cast<std::uint16_t>(bytes), 0};
                }
            });
        record.scalars = session.strings.scalars(words, count, isCut);
    }
    session.ring.appendHistory(record);
}

} // namespace gd::session::sink
