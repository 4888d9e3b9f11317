// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/fault_suspects.h"

#include "analyzer/facts/names.h"
#include "analyzer/facts/nested_order.h"
#include "analyzer/facts/node_place.h"
#include "analyzer/facts/sticky_error.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace gd::facts {
namespace {

using NodeIds = std::set<std::int64_t>;
using How = FaultSuspects::How;

Result<NodeIds> readIds(Db& db, std::string_view sql, std::int64_t processId, std::int64_t second) {
    GD_TRY_ASSIGN(auto select, db.prepare(sql));
    select.bind(1, processId);
    if (select.parameterCount() > 1)
        select.bind(2, second);
    NodeIds ids;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return ids;
        ids.insert(select.int64(0));
    }
}

class Finder {
public:
    Finder(FactContext& context, const ProcessData& process, const Exec& exec)
        : m_db(context.db)
        , m_process(process)
        , m_exec(exec) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr)
            return;
        const NestedGraph nested(process, *graph, nodesInside(process));
        for (const NestedGraph::Place& place : nested.places) {
            const Node& node = process.nodes[static_cast<std::size_t>(place.node)];
            m_nodes.push_back(&node);
            if (node.type == "kernel")
                m_kernels.push_back(&node);
        }
    }

    std::int64_t kernels() const { return static_cast<std::int64_t>(m_kernels.size()); }

    Result<std::pair<How, std::vector<const Node*>>> find(const Replay& replay, std::int32_t result) {
        GD_TRY_ASSIGN(const NodeIds stale,
            readIds(m_db, "SELECT node_id FROM stale_pointer WHERE process_id = ? AND exec_id = ? AND known",
                m_process.processId, m_exec.execId));
        std::vector<const Node*> found = only(m_nodes, stale);
        if (!found.empty())
            return std::pair(How::stale, std::move(found));
        GD_TRY_ASSIGN(found, notEnded(replay));
        if (!found.empty())
            return std::pair(How::running, std::move(found));
        if (result != kDeviceAssert) {
            GD_TRY_ASSIGN(found, withDescriptor());
            if (!found.empty())
                return std::pair(How::descriptor, std::move(found));
        }
        std::copy_if(m_kernels.begin(), m_kernels.end(), std::back_inserter(found),
            [](const Node* node) { return readsWhereDataSay(node->name); });
        if (!found.empty())
            return std::pair(How::index, std::move(found));
        return std::pair(How::any, m_kernels);
    }

private:
    static std::vector<const Node*> only(const std::vector<const Node*>& nodes, const NodeIds& ids) {
        std::vector<const Node*> result;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(result),
            [&](const Node* node) { return ids.contains(node->nodeId); });
        return result;
    }

    // Where nodes have device times of their own: those without one behind which nothing without one waits.
    // Empty where no node of this replay has times, or each has.
    Result<std::vector<const Node*>> notEnded(const Replay& replay) {
        GD_TRY_ASSIGN(const NodeIds ended,
            readIds(m_db,
                "SELECT COALESCE(n.origin_node_id, n.node_id) FROM kernel AS k JOIN track AS t USING "
                "(track_id) JOIN graph_node AS n ON n.process_id = t.process_id AND n.node_id = k.node_id "
                "WHERE t.process_id = ? AND k.correlation = ?",
                m_process.processId, replay.correlation));
        if (replay.correlation == 0 || only(m_kernels, ended).empty())
            return std::vector<const Node*>();
        GD_TRY_ASSIGN(const auto edges, readEdges());
        NodeIds open; // wait for a kernel without times, or are one
        std::vector<const Node*> result;
        for (const Node* node : m_nodes) { // in order of creation, so what a captured node waits for is first
            const auto before = edges.find(node->nodeId);
            const bool waits = before != edges.end()
                && std::any_of(before->second.begin(), before->second.end(),
                    [&](std::int64_t other) { return open.contains(other); });
            const bool isOpen = node->type == "kernel" && !ended.contains(node->nodeId);
            if (isOpen && !waits)
                result.push_back(node);
            if (isOpen || waits)
                open.insert(node->nodeId);
        }
        return result;
    }

    // For each node those that it waits for directly.
    Result<std::unordered_map<std::int64_t, std::vector<std::int64_t>>> readEdges() {
        GD_TRY_ASSIGN(auto select,
            m_db.prepare("SELECT from_node_id, to_node_id FROM graph_edge WHERE process_id = ?"));
        select.bind(1, m_process.processId);
        std::unordered_map<std::int64_t, std::vector<std::int64_t>> edges;
        while (true) {
            GD_TRY_ASSIGN(const bool more, select.step());
            if (!more)
                return edges;
            edges[select.int64(1)].push_back(select.int64(0));
        }
    }

    // Tensor maps have 128 bytes, other descriptors that are made on the host and passed by value often 64.
    Result<std::vector<const Node*>> withDescriptor() {
        GD_TRY_ASSIGN(const NodeIds ids,
            readIds(m_db,
                "SELECT node_id FROM (SELECT node_id, param, offset + bytes AS bytes FROM node_scalar WHERE "
                "process_id = ?1 UNION ALL SELECT node_id, param, offset + 8 FROM node_pointer WHERE "
                "process_id = ?1 AND param IS NOT NULL) GROUP BY node_id, param HAVING MAX(bytes) IN (64, "
                "128)",
                m_process.processId, 0));
        return only(m_kernels, ids);
    }

    Db& m_db;
    const ProcessData& m_process;
    const Exec& m_exec;
    std::vector<const Node*> m_nodes; // of child graphs, too
    std::vector<const Node*> m_kernels;
};

} // namespace

std::string_view name(FaultSuspects::How how) {
    switch (how) {
    case How::stale:
        return "stale";
    case How::running:
        return "running";
    case How::descriptor:
        return "descriptor";
    case How::index:
        return "index";
    case How::any:
        break;
    }
    return "any";
}

Result<FaultSuspects> faultSuspects(FactContext& context, const ProcessData& process, const Exec& exec,
    const Replay& replay, std::int32_t result) {
    Finder finder(context, process, exec);
    GD_TRY_ASSIGN(const auto found, finder.find(replay, result));
    const std::vector<const Node*>& nodes = found.second;
    FaultSuspects suspects;
    suspects.how = found.first;
    suspects.nodes = static_cast<std::int64_t>(nodes.size());
    suspects.kernels = finder.kernels();
    for (const Node* node : nodes) {
        const std::string& name = node->name.empty() ? node->type : node->name;
        if (std::find(suspects.names.begin(), suspects.names.end(), name) == suspects.names.end())
            suspects.names.push_back(name);
    }
    if (nodes.size() == 1) {
        NodePlaces places(context.stacks, process);
        GD_TRY_ASSIGN(suspects.stackId, places.of(*nodes.front()));
    }
    return suspects;
}

} // namespace gd::facts
