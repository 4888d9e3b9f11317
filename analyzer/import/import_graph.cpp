// SPDX-License-Identifier: Apache-2.0
// Tables capture*, thread_capture_mode, graph, graph_node, graph_edge, node_pointer, node_scalar, graph_exec,
// exec_update.
#include "analyzer/import/graph_signature.h"
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"

#include "collector/api/graphdoctor_runtime.h"

#include <algorithm>
#include <unordered_map>

namespace gd::importer {
namespace {

bool isDestroy(std::uint16_t life) {
    return life == static_cast<std::uint16_t>(raw::Life::Destroyed);
}

bool isUpdate(std::uint16_t life) {
    return life == static_cast<std::uint16_t>(raw::Life::Updated);
}

Result<void> importCaptures(ProcessImport& process) {
    std::unordered_map<std::uint64_t, raw::CaptureEnd> ends;
    for (const raw::CaptureEnd& end : process.raw().captureEnds)
        ends.insert_or_assign(end.capture, end);
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR REPLACE INTO capture(process_id, capture_id, stream_id, device_id, mode, "
            "begin_thread_id, start_ns, begin_stack_id, origin_non_blocking, end_start_ns, end_ns, "
            "end_thread_id, end_stack_id, end_result, graph_id, node_count, stray_stream_id, stray_stack_id) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::CaptureBegin& begin : process.raw().captureBegins) {
        process.noteStream(begin.stream, begin.device, begin.timeNs);
        insert.clearBindings();
        insert.bind(1, process.processId());
        insert.bind(2, bits(begin.capture));
        insert.bind(3, bits(begin.stream));
        insert.bind(4, begin.device);
        insert.bind(5, captureModeName(begin.mode));
        insert.bind(6, begin.thread);
        insert.bind(7, process.time(begin.timeNs));
        insert.bind(8, process.stackId(begin.stack));
        insert.bind(9, begin.streamFlags & 1);
        if (const auto found = ends.find(begin.capture); found != ends.end()) {
            const raw::CaptureEnd& end = found->second;
            insert.bind(10, process.time(end.startNs));
            insert.bind(11, process.time(end.endNs));
            insert.bind(12, end.thread);
            insert.bind(13, process.stackId(end.stack));
            insert.bind(14, end.result);
            insert.bind(15, idOrNull(end.graph));
            insert.bind(16, end.nodes);
            insert.bind(17, idOrNull(end.strayStream));
            insert.bind(18, process.stackId(end.strayStack));
        }
        GD_TRY(insert.run());
    }
    return {};
}

Result<void> importJoins(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO capture_join(process_id, capture_id, stream_id, from_stream_id, "
                             "event_id, time_ns, thread_id, stack_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::CaptureJoin& join : process.raw().captureJoins)
        GD_TRY(
            insert.runWith(process.processId(), bits(join.capture), bits(join.stream), bits(join.fromStream),
                bits(join.event), process.time(join.timeNs), join.thread, process.stackId(join.stack)));
    GD_TRY_ASSIGN(Statement mode,
        process.db().prepare(
            "INSERT INTO thread_capture_mode(process_id, thread_id, time_ns, mode, previous) "
            "VALUES (?, ?, ?, ?, ?)"));
    for (const raw::ThreadCaptureMode& change : process.raw().captureModes)
        GD_TRY(mode.runWith(process.processId(), change.thread, process.time(change.timeNs),
            captureModeName(change.mode), captureModeName(change.previous)));
    return {};
}

Result<void> importFailures(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR REPLACE INTO capture_fail(process_id, capture_id, ordinal, api_id, result, start_ns, "
            "end_ns, thread_id, stack_id, stream_id, object_id, bytes, same_thread, member_stream, "
            "member_event, "
            "legacy_stream, same_device, thread_captures, other_capture_id, event_record_ns, "
            "event_stream_id) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::CaptureFail& fail : process.raw().captureFails) {
        const auto has = [&fail](raw::CaptureRelation bit) { return (fail.relation & bit) != 0 ? 1 : 0; };
        GD_TRY(insert.runWith(process.processId(), bits(fail.capture), fail.ordinal, fail.api, fail.result,
            process.time(fail.startNs), process.time(fail.endNs), fail.thread, process.stackId(fail.stack),
            idOrNull(fail.stream), idOrNull(fail.object), idOrNull(fail.bytes), has(raw::kSameThread),
            has(raw::kMemberStream), has(raw::kMemberEvent), has(raw::kLegacyStreamCall),
            has(raw::kSameDevice), has(raw::kThreadCaptures), idOrNull(fail.otherCapture),
            process.timeIfSet(fail.eventRecordNs), idOrNull(fail.eventStream)));
    }
    return {};
}

// A node with everything its records say.
struct Node {
    raw::GraphNode record{};
    bool hasRecord = false;
    std::int64_t destroyedNs = 0;
    const raw::NodeKernel* kernel = nullptr;
    const raw::NodeMemory* memory = nullptr;
};
using Nodes = std::map<std::uint64_t, Node>;

Nodes collectNodes(ProcessImport& process) {
    Nodes nodes;
    RawProcess& raw = process.raw();
    for (const raw::GraphNode& record : raw.nodes) {
        Node& node = nodes[record.node];
        if (isDestroy(record.life)) {
            node.destroyedNs = record.timeNs;
        } else if (!node.hasRecord) {
            node.record = record;
            node.hasRecord = true;
        }
    }
    // Later parameters replace earlier ones. Parameters of a node without a record say nothing by themselves.
    for (const raw::NodeKernel& kernel : raw.nodeKernels) {
        if (const auto found = nodes.find(kernel.node); found != nodes.end())
            found->second.kernel = &kernel;
    }
    for (const raw::NodeMemory& memory : raw.nodeMemories) {
        if (const auto found = nodes.find(memory.node); found != nodes.end())
            found->second.memory = &memory;
    }
    return nodes;
}

// Name of a node's kernel, host function or collective, demangled.
std::string nodeName(ProcessImport& process, const Node& node) {
    if (node.kernel != nullptr)
        return process.shape(node.kernel->shape).name;
    return node.memory != nullptr ? demangled(process.rawText(node.memory->name)) : std::string();
}

void bindMemory(Statement& insert, const Node& node, int first) {
    if (node.memory == nullptr)
        return;
    const raw::NodeMemory& memory = *node.memory;
    const auto kind = [](std::uint16_t number) {
        const std::string_view word = memoryKindName(number);
        return word.empty() ? std::nullopt : std::optional(word);
    };
    const bool isCopy = memory.type == GD_RT_NODE_MEMCPY;
    insert.bind(first, idOrNull(memory.dst));
    insert.bind(first + 1, memory.type == GD_RT_NODE_HOST ? std::nullopt : idOrNull(memory.src));
    insert.bind(first + 2, idOrNull(memory.bytes));
    insert.bind(first + 3, isCopy ? std::optional(copyKindName(memory.copyKind)) : std::nullopt);
    insert.bind(first + 4, kind(memory.srcKind));
    insert.bind(first + 5, kind(memory.dstKind));
    insert.bind(first + 6, idOrNull(memory.commOp));
}

Result<void> importNodes(ProcessImport& process, const Nodes& nodes) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO graph_node(process_id, node_id, graph_id, exec_id, origin_node_id, parent_node_id, "
            "capture_id, type, stream_id, thread_id, created_ns, destroyed_ns, stack_id, range_path, "
            "shape_id, "
            "name, params_readable, param_count, dst, src, bytes, copy_kind, src_memory, dst_memory, "
            "comm_op_id) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [id, node] : nodes) {
        if (!node.hasRecord)
            continue;
        const raw::GraphNode& record = node.record;
        insert.clearBindings();
        insert.bind(1, process.processId());
        insert.bind(2, bits(id));
        insert.bind(record.inExec != 0 ? 4 : 3, bits(record.graph));
        insert.bind(5, idOrNull(record.origin));
        insert.bind(6, idOrNull(record.parentNode));
        insert.bind(7, idOrNull(record.capture));
        insert.bind(8, nodeTypeName(record.type));
        insert.bind(9, idOrNull(record.stream));
        insert.bind(10, idOrNull(record.thread));
        insert.bind(11, process.time(record.timeNs));
        insert.bind(12, process.timeIfSet(node.destroyedNs));
        insert.bind(13, process.stackId(record.stack));
        insert.bind(14, process.text(record.rangePath));
        const std::string name = process.job().cleaner.clean(nodeName(process, node));
        if (!name.empty())
            insert.bind(16, name);
        if (node.kernel != nullptr) {
            insert.bind(15, process.shape(node.kernel->shape).shapeId);
            insert.bind(17, node.kernel->readable != 0 ? 1 : 0);
            insert.bind(18, node.kernel->paramCount);
        }
        bindMemory(insert, node, 19);
        GD_TRY(insert.run());
    }
    return {};
}

Result<void> importParameters(ProcessImport& process) {
    constexpr std::uint16_t kDestination = 0xfffe;
    constexpr std::uint16_t kSource = 0xffff;
    GD_TRY_ASSIGN(Statement pointer,
        process.db().prepare("INSERT INTO node_pointer(process_id, node_id, param, role, offset, address, "
                             "allocation_id) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::NodePointer& record : process.raw().nodePointers) {
        const bool isParam = record.param < kDestination;
        const std::string_view role = isParam ? "param" : record.param == kSource ? "src" : "dst";
        const auto param = isParam ? std::optional<std::int64_t>(record.param) : std::nullopt;
        GD_TRY(pointer.runWith(process.processId(), bits(record.node), param, role, record.offset,
            bits(record.address), bits(record.allocation)));
    }
    GD_TRY_ASSIGN(Statement scalar,
        process.db().prepare(
            "INSERT INTO node_scalar(process_id, node_id, param, offset, bytes, value) VALUES "
            "(?, ?, ?, ?, ?, ?)"));
    for (const raw::NodeScalar& record : process.raw().nodeScalars)
        GD_TRY(scalar.runWith(process.processId(), bits(record.node), record.param, record.offset,
            record.bytes, bits(record.value)));
    return {};
}

std::uint64_t labelOf(ProcessImport& process, const Node& node) {
    std::uint64_t hash = hashText(nodeTypeName(node.record.type));
    hash = hashMix(hash, hashText(nodeName(process, node)));
    if (node.kernel == nullptr)
        return hash;
    const auto shape = process.raw().shapes.find(node.kernel->shape);
    if (shape == process.raw().shapes.end())
        return hash;
    for (int i = 0; i < 3; ++i) {
        hash = hashMix(hash, shape->second.grid[i]);
        hash = hashMix(hash, shape->second.block[i]);
    }
    return hashMix(hash, shape->second.dynamicSharedBytes);
}

using Signatures = std::unordered_map<std::uint64_t, std::uint64_t>; // by graph

Signatures signaturesOf(ProcessImport& process, const Nodes& nodes) {
    std::unordered_map<std::uint64_t, GraphShape> shapes;
    std::unordered_map<std::uint64_t, std::pair<GraphShape*, std::size_t>> places; // by node
    for (const auto& [id, node] : nodes) {
        if (!node.hasRecord || node.record.inExec != 0)
            continue;
        GraphShape& shape = shapes[node.record.graph];
        places.emplace(id, std::pair(&shape, shape.labels.size()));
        shape.labels.push_back(labelOf(process, node));
    }
    for (const raw::GraphEdge& edge : process.raw().edges) {
        const auto from = places.find(edge.fromNode);
        const auto to = places.find(edge.toNode);
        if (from != places.end() && to != places.end() && from->second.first == to->second.first)
            from->second.first->edges.emplace_back(from->second.second, to->second.second);
    }
    Signatures signatures;
    for (const auto& [graph, shape] : shapes)
        signatures.emplace(graph, graphSignature(shape));
    return signatures;
}

std::string_view originName(std::uint16_t origin) {
    switch (static_cast<raw::GraphOrigin>(origin)) {
    case raw::GraphOrigin::Clone:
        return "clone";
    case raw::GraphOrigin::Capture:
        return "capture";
    case raw::GraphOrigin::Create:
        break;
    }
    return "create";
}

Result<void> importGraphTable(ProcessImport& process, const Signatures& signatures) {
    struct Graph {
        raw::Graph record{};
        bool hasRecord = false;
        std::int64_t destroyedNs = 0;
    };
    std::map<std::uint64_t, Graph> graphs;
    for (const raw::Graph& record : process.raw().graphs) {
        Graph& graph = graphs[record.graph];
        if (isDestroy(record.life)) {
            graph.destroyedNs = record.timeNs;
        } else if (!graph.hasRecord
            || record.origin == static_cast<std::uint16_t>(raw::GraphOrigin::Capture)) {
            graph.record = record;
            graph.hasRecord = true;
        }
    }
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO graph(process_id, graph_id, origin, origin_graph_id, capture_id, "
            "created_ns, destroyed_ns, stack_id, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [id, graph] : graphs) {
        if (!graph.hasRecord)
            continue;
        const auto signature = signatures.find(id);
        const bool known = signature != signatures.end();
        const auto value = valueIf(known, known ? bits(signature->second) : 0);
        GD_TRY(insert.runWith(process.processId(), bits(id), originName(graph.record.origin),
            idOrNull(graph.record.originGraph), idOrNull(graph.record.capture),
            process.time(graph.record.timeNs), process.timeIfSet(graph.destroyedNs),
            process.stackId(graph.record.stack), value));
    }
    GD_TRY_ASSIGN(Statement edge,
        process.db().prepare(
            "INSERT INTO graph_edge(process_id, graph_id, from_node_id, to_node_id) VALUES (?, ?, ?, ?)"));
    for (const raw::GraphEdge& record : process.raw().edges)
        GD_TRY(edge.runWith(
            process.processId(), bits(record.graph), bits(record.fromNode), bits(record.toNode)));
    return {};
}

Result<void> importExecs(ProcessImport& process) {
    std::map<std::uint64_t, std::int64_t> destroyed;
    for (const raw::GraphExec& record : process.raw().execs) {
        if (isDestroy(record.life))
            destroyed.emplace(record.exec, record.startNs != 0 ? record.startNs : record.endNs);
    }
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR IGNORE INTO graph_exec(process_id, exec_id, graph_id, flags, traceable, "
            "created_start_ns, created_ns, destroyed_ns, thread_id, stack_id, result, "
            "node_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    GD_TRY_ASSIGN(Statement update,
        process.db().prepare(
            "INSERT INTO exec_update(process_id, exec_id, graph_id, start_ns, end_ns, "
            "thread_id, result, update_result, stack_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::GraphExec& record : process.raw().execs) {
        if (isUpdate(record.life)) {
            GD_TRY(update.runWith(process.processId(), bits(record.exec), idOrNull(record.graph),
                process.time(record.startNs), process.time(record.endNs), idOrNull(record.thread),
                record.result, record.updateResult, process.stackId(record.stack)));
            continue;
        }
        // A failed instantiation makes no executable; its call is in api_call.
        if (isDestroy(record.life) || record.exec == 0)
            continue;
        const auto gone = destroyed.find(record.exec);
        GD_TRY(insert.runWith(process.processId(), bits(record.exec), idOrNull(record.graph), record.flags,
            record.traceable != 0 ? 1 : 0, process.time(record.startNs), process.time(record.endNs),
            gone == destroyed.end() ? std::nullopt : process.timeIfSet(gone->second), idOrNull(record.thread),
            process.stackId(record.stack), record.result, idOrNull(record.nodes)));
    }
    return {};
}

} // namespace

Result<void> importGraphs(ProcessImport& process) {
    GD_TRY(importCaptures(process));
    GD_TRY(importJoins(process));
    GD_TRY(importFailures(process));
    const Nodes nodes = collectNodes(process);
    GD_TRY(importNodes(process, nodes));
    GD_TRY(importParameters(process));
    GD_TRY(importGraphTable(process, signaturesOf(process, nodes)));
    return importExecs(process);
}

} // namespace gd::importer
