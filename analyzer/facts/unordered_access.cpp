// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/unordered_access.h"

#include "analyzer/facts/node_conflicts.h"
#include "analyzer/facts/node_place.h"

#include <algorithm>
#include <map>
#include <optional>

namespace gd::facts {
namespace {

using Role = Access::Role;

Result<EdgesByGraph> readEdges(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT graph_id, from_node_id, to_node_id FROM graph_edge WHERE process_id = ?"));
    select.bind(1, processId);
    EdgesByGraph edges;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return edges;
        edges[select.int64(0)].emplace_back(select.int64(1), select.int64(2));
    }
}

class Writer {
public:
    Writer(StackReader& stacks, const ProcessData& process, Statement& insert)
        : m_process(process)
        , m_places(stacks, process)
        , m_insert(insert) { }

    Result<void> write(const Exec& exec, const Graph& graph, const NodeConflict* conflict) {
        std::int64_t replays = 0;
        const Replay* first = nullptr;
        const Replay* last = nullptr;
        for (const std::int32_t index : exec.replays) {
            const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
            if (replay.result != 0)
                continue;
            ++replays;
            first = first == nullptr ? &replay : first;
            last = &replay;
        }
        if (first == nullptr)
            return {};
        const std::string name = m_process.graphName(&graph, exec.execId);
        const auto step = m_process.stepNumberAt(first->launchStartNs);
        if (conflict == nullptr)
            return m_insert.runWith(m_process.processId, exec.execId, graph.graphId, name, 0, "", nullptr, 0,
                "", "", nullptr, "", 0, 0, 0, nullptr, nullptr, nullptr, nullptr, replays,
                first->launchStartNs, last->launchEndNs, step, nullptr, nullptr, "low", 0);
        const Access& writer = conflict->writer;
        const Access& other = conflict->other;
        const Node& a = nodeAt(writer.node);
        const Node& b = nodeAt(other.node);
        const Node& later = a.createdNs >= b.createdNs ? a : b;
        const Node& earlier = &later == &a ? b : a;
        GD_TRY_ASSIGN(const std::int64_t stack, m_places.ofEither(later, earlier));
        return m_insert.runWith(m_process.processId, exec.execId, graph.graphId, name, a.nodeId,
            conflict->writerName, writer.param, b.nodeId, conflict->otherName, roleName(other), other.param,
            conflict->sameGroup ? "same_group" : "no_path",
            static_cast<std::int64_t>(std::max(writer.address, other.address)), bytesOf(writer, other),
            conflict->pairs, orNull(a.streamId), orNull(b.streamId), holderOf(writer, conflict->writerHolder),
            holderOf(other, conflict->otherHolder), replays, first->launchStartNs, last->launchEndNs, step,
            orNull(std::int64_t{later.threadId}), orNull(stack), other.role == Role::uses ? "medium" : "high",
            1);
    }

private:
    const Node& nodeAt(std::int32_t index) const { return m_process.nodes[static_cast<std::size_t>(index)]; }

    static const char* roleName(const Access& other) {
        return other.role == Role::reads ? "reads" : other.role == Role::writes ? "writes" : "uses";
    }

    // Where kernels write, to the end of the allocation.
    static std::optional<std::int64_t> bytesOf(const Access& writer, const Access& other) {
        const std::uint64_t from = std::max(writer.address, other.address);
        const std::uint64_t written = writer.role == Role::uses ? writer.limit : writer.end();
        const std::uint64_t end = other.role == Role::uses ? written : std::min(written, other.end());
        return end == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(end - from));
    }

    std::optional<std::int64_t> holderOf(const Access& access, std::int32_t holder) const {
        return holder == access.node ? std::nullopt : std::optional(nodeAt(holder).nodeId);
    }

    const ProcessData& m_process;
    NodePlaces m_places;
    Statement& m_insert;
};

Result<void> writeProcess(FactContext& context, const ProcessData& process, Statement& insert) {
    GD_TRY_ASSIGN(const GraphAccess accesses, GraphAccess::read(context.db, process));
    GD_TRY_ASSIGN(const EdgesByGraph edges, readEdges(context.db, process.processId));
    std::unordered_map<std::int64_t, std::int64_t> groups;
    for (const CommOp& op : process.commOps)
        groups.emplace(op.opId, op.groupId);
    const NodesInside inside = nodesInside(process);
    NodeScalars scalars(context.db, process.processId);
    // nullopt: it cannot be told. Graphs are often instantiated again.
    std::map<std::int64_t, std::optional<std::vector<NodeConflict>>> verdicts;
    Writer writer(context.stacks, process, insert);
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr || accesses.isUpdated(exec.execId))
            continue;
        const auto [entry, isNew] = verdicts.try_emplace(graph->graphId);
        if (isNew) {
            NodeConflicts conflicts(process, accesses, scalars, groups);
            GD_TRY_ASSIGN(entry->second, conflicts.find(*graph, inside, edges));
        }
        const std::optional<std::vector<NodeConflict>>& verdict = entry->second;
        if (!verdict)
            GD_TRY(writer.write(exec, *graph, nullptr));
        for (const NodeConflict& conflict : verdict.value_or(std::vector<NodeConflict>()))
            GD_TRY(writer.write(exec, *graph, &conflict));
    }
    return {};
}

} // namespace

Result<void> buildUnorderedAccess(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO unordered_access VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(writeProcess(context, process, insert));
    return {};
}

} // namespace gd::facts
