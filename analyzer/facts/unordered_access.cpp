// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/unordered_access.h"

#include "analyzer/facts/graph_access.h"
#include "analyzer/facts/node_order.h"
#include "analyzer/facts/node_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace gd::facts {
namespace {

using Role = Access::Role;

constexpr std::size_t kMostPairs = 20'000'000; // of overlapping ranges in one graph

struct Edge {
    std::int64_t from = 0;
    std::int64_t to = 0;
};
using EdgesByGraph = std::unordered_map<std::int64_t, std::vector<Edge>>;

Result<EdgesByGraph> readEdges(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT graph_id, from_node_id, to_node_id FROM graph_edge WHERE process_id = ?"));
    select.bind(1, processId);
    EdgesByGraph edges;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return edges;
        edges[select.int64(0)].push_back({select.int64(1), select.int64(2)});
    }
}

// Two accesses of one graph that nothing orders.
struct Conflict {
    const Access* writer = nullptr;
    const Access* other = nullptr;
    bool sameGroup = false;
    std::int64_t pairs = 0;
};

const std::string& nameOf(const Node& node) {
    return node.name.empty() ? node.type : node.name;
}

const char* roleName(Role role) {
    return role == Role::reads ? "reads" : role == Role::writes ? "writes" : "uses";
}

class GraphJudge {
public:
    GraphJudge(const ProcessData& process, const Graph& graph, const std::vector<Access>& accesses,
        const std::unordered_map<std::int64_t, std::int64_t>& groups)
        : m_process(process)
        , m_graph(graph)
        , m_accesses(accesses)
        , m_groups(groups) { }

    // False: it cannot be told.
    bool judge(const std::vector<Edge>& edges) {
        std::unordered_map<std::int64_t, std::int32_t> places;
        for (std::size_t i = 0; i < m_graph.nodes.size(); ++i) {
            const Node& node = m_process.nodes[static_cast<std::size_t>(m_graph.nodes[i])];
            places.emplace(node.nodeId, static_cast<std::int32_t>(i));
            m_placeOf.emplace(m_graph.nodes[i], i);
        }
        std::vector<std::pair<std::int32_t, std::int32_t>> links;
        for (const Edge& edge : edges) {
            const auto from = places.find(edge.from);
            const auto to = places.find(edge.to);
            if (from != places.end() && to != places.end())
                links.emplace_back(from->second, to->second);
        }
        m_order = NodeOrder::of(m_graph.nodes.size(), links);
        return m_order && sweep();
    }

    std::vector<Conflict> conflicts() const {
        std::vector<Conflict> result;
        for (const auto& [key, conflict] : m_conflicts)
            result.push_back(conflict);
        return result;
    }

private:
    // Accesses come by address; those whose range is not over yet meet each new one.
    bool sweep() {
        std::vector<const Access*> writers;
        std::vector<const Access*> others;
        std::size_t pairs = 0;
        for (const Access& access : m_accesses) {
            const auto isOver = [&](const Access* open) { return open->end() <= access.address; };
            std::erase_if(writers, isOver);
            for (const Access* open : writers)
                meet(*open, access);
            pairs += writers.size();
            if (access.role == Role::writes) {
                std::erase_if(others, isOver);
                for (const Access* open : others)
                    meet(access, *open);
                pairs += others.size();
            }
            (access.role == Role::writes ? writers : others).push_back(&access);
            if (pairs > kMostPairs || others.size() > kMostPairs)
                return false;
        }
        return true;
    }

    void meet(const Access& writer, const Access& other) {
        if (writer.node == other.node)
            return;
        const bool group = sameGroup(writer, other);
        if (!group && m_order->ordered(m_placeOf.at(writer.node), m_placeOf.at(other.node)))
            return;
        const Node& first = m_process.nodes[static_cast<std::size_t>(writer.node)];
        const Node& second = m_process.nodes[static_cast<std::size_t>(other.node)];
        Conflict& conflict
            = m_conflicts[{nameOf(first), nameOf(second), other.role, other.param.value_or(-1)}];
        if (conflict.pairs++ == 0) {
            conflict.writer = &writer;
            conflict.other = &other;
            conflict.sameGroup = group;
        }
    }

    bool sameGroup(const Access& a, const Access& b) const {
        const auto groupOf = [&](const Access& access) {
            const Node& node = m_process.nodes[static_cast<std::size_t>(access.node)];
            const auto found = m_groups.find(node.commOpId);
            return node.commOpId == 0 || found == m_groups.end() ? 0 : found->second;
        };
        const std::int64_t group = groupOf(a);
        return group != 0 && group == groupOf(b);
    }

    const ProcessData& m_process;
    const Graph& m_graph;
    const std::vector<Access>& m_accesses;
    const std::unordered_map<std::int64_t, std::int64_t>& m_groups; // by communication call
    std::unordered_map<std::int32_t, std::size_t> m_placeOf; // in the graph, by index of the node
    std::optional<NodeOrder> m_order;
    std::map<std::tuple<std::string, std::string, Role, std::int64_t>, Conflict> m_conflicts;
};

class Writer {
public:
    Writer(StackReader& stacks, const ProcessData& process, Statement& insert)
        : m_process(process)
        , m_places(stacks, process)
        , m_insert(insert) { }

    Result<void> write(const Exec& exec, const Graph& graph, const Conflict* conflict) {
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
            return m_insert.runWith(m_process.processId, exec.execId, graph.graphId, name, 0, "", 0, "", "",
                nullptr, "", 0, 0, 0, nullptr, nullptr, replays, first->launchStartNs, last->launchEndNs,
                step, nullptr, nullptr, "low", 0);
        const Access& writer = *conflict->writer;
        const Access& other = *conflict->other;
        const Node& a = m_process.nodes[static_cast<std::size_t>(writer.node)];
        const Node& b = m_process.nodes[static_cast<std::size_t>(other.node)];
        const Node& later = a.createdNs >= b.createdNs ? a : b;
        const Node& earlier = &later == &a ? b : a;
        GD_TRY_ASSIGN(const std::int64_t stack, m_places.ofEither(later, earlier));
        const std::uint64_t from = std::max(writer.address, other.address);
        const std::uint64_t end
            = other.role == Role::uses ? writer.end() : std::min(writer.end(), other.end());
        return m_insert.runWith(m_process.processId, exec.execId, graph.graphId, name, a.nodeId, nameOf(a),
            b.nodeId, nameOf(b), roleName(other.role), other.param,
            conflict->sameGroup ? "same_group" : "no_path", static_cast<std::int64_t>(from),
            static_cast<std::int64_t>(end - from), conflict->pairs, orNull(a.streamId), orNull(b.streamId),
            replays, first->launchStartNs, last->launchEndNs, step, orNull(std::int64_t{later.threadId}),
            orNull(stack), other.role == Role::uses ? "medium" : "high", 1);
    }

private:
    const ProcessData& m_process;
    NodePlaces m_places;
    Statement& m_insert;
};

Result<void> writeProcess(FactContext& context, const ProcessData& process, Statement& insert) {
    GD_TRY_ASSIGN(const GraphAccess accesses, GraphAccess::read(context.db, process));
    GD_TRY_ASSIGN(EdgesByGraph edges, readEdges(context.db, process.processId));
    std::unordered_map<std::int64_t, std::int64_t> groups;
    for (const CommOp& op : process.commOps)
        groups.emplace(op.opId, op.groupId);
    // nullopt: it cannot be told. Graphs are often instantiated again.
    std::map<std::int64_t, std::optional<std::vector<Conflict>>> verdicts;
    const auto verdictOf = [&](const Graph& graph) -> const std::optional<std::vector<Conflict>>& {
        const auto [entry, isNew] = verdicts.try_emplace(graph.graphId);
        if (!isNew)
            return entry->second;
        const std::vector<Access>& touched = accesses.of(graph.graphId);
        const bool writes = std::any_of(
            touched.begin(), touched.end(), [](const Access& access) { return access.role == Role::writes; });
        GraphJudge judge(process, graph, touched, groups);
        if (!writes || graph.nodes.size() < 2)
            entry->second.emplace();
        else if (!edges.empty() && judge.judge(edges[graph.graphId])) // no edge anywhere: not recorded
            entry->second = judge.conflicts();
        return entry->second;
    };
    Writer writer(context.stacks, process, insert);
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr || accesses.isUpdated(exec.execId))
            continue;
        const std::optional<std::vector<Conflict>>& verdict = verdictOf(*graph);
        if (!verdict)
            GD_TRY(writer.write(exec, *graph, nullptr));
        for (const Conflict& conflict : verdict.value_or(std::vector<Conflict>()))
            GD_TRY(writer.write(exec, *graph, &conflict));
    }
    return {};
}

} // namespace

Result<void> buildUnorderedAccess(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO unordered_access VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(writeProcess(context, process, insert));
    return {};
}

} // namespace gd::facts
