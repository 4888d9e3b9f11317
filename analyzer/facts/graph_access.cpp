// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/graph_access.h"

#include <algorithm>

namespace gd::facts {
namespace {

using Role = Access::Role;

// Runs `row` for each row of a query with the process as its parameter.
template <class Row>
Result<void> eachRow(Db& db, const char* sql, const ProcessData& process, const Row& row) {
    GD_TRY_ASSIGN(auto select, db.prepare(sql));
    select.bind(1, process.processId);
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return {};
        row(select);
    }
}

// What kernels say of their parameters, by name.
class Signatures {
public:
    ParamUse of(const std::string& kernel, std::optional<std::int64_t> param) {
        const auto [entry, isNew] = m_byName.try_emplace(kernel);
        if (isNew)
            entry->second = kernelSignature(kernel);
        const std::vector<ParamUse>& uses = entry->second;
        return param && *param >= 0 && *param < std::ssize(uses) ? uses[static_cast<std::size_t>(*param)]
                                                                 : ParamUse::unknown;
    }

private:
    std::unordered_map<std::string, std::vector<ParamUse>> m_byName;
};

std::unordered_map<std::int64_t, std::uint64_t> endsOfAllocations(const ProcessData& process) {
    std::unordered_map<std::int64_t, std::uint64_t> ends;
    for (const Allocation& allocation : process.allocations)
        ends.emplace(
            allocation.allocationId, allocation.address + static_cast<std::uint64_t>(allocation.bytes));
    return ends;
}

void sortByAddress(std::vector<Access>& accesses) {
    std::stable_sort(accesses.begin(), accesses.end(),
        [](const Access& a, const Access& b) { return a.address < b.address; });
}

} // namespace

Result<GraphAccess> GraphAccess::read(Db& db, const ProcessData& process) {
    GraphAccess result;
    result.m_process = &process;
    result.m_touches.resize(process.nodes.size());
    for (const ApiCall& call : process.calls) {
        if (call.known == KnownCall::nodeParams && call.result == 0)
            result.m_lastParamsSetNs = std::max(result.m_lastParamsSetNs, call.startNs);
        else if (call.known == KnownCall::execNodeParams && call.result == 0)
            result.m_updated.insert(call.objectId);
    }
    const auto add = [&](std::int64_t nodeId, std::int64_t address, std::int64_t bytes, Role role,
                         std::optional<std::int64_t> param) -> Access* {
        const auto found = process.nodeIndex.find(nodeId);
        if (found == process.nodeIndex.end() || address == 0 || bytes <= 0)
            return nullptr;
        const std::int64_t graph = process.nodes[static_cast<std::size_t>(found->second)].graphId;
        const auto from = static_cast<std::uint64_t>(address);
        const auto length = static_cast<std::uint64_t>(bytes);
        if (graph == 0 || from + length <= from)
            return nullptr;
        result.m_touches[static_cast<std::size_t>(found->second)] = true;
        return &result.m_byGraph[graph].emplace_back(Access{found->second, from, length, role, param});
    };
    GD_TRY(eachRow(db,
        "SELECT node_id, dst, src, bytes FROM graph_node WHERE process_id = ? AND graph_id IS NOT NULL "
        "AND type IN ('memcpy', 'memset', 'comm')",
        process, [&](Statement& row) {
            add(row.int64(0), row.int64(1), row.int64(3), Role::writes, std::nullopt);
            add(row.int64(0), row.int64(2), row.int64(3), Role::reads, std::nullopt);
        }));
    Signatures signatures;
    const auto ends = endsOfAllocations(process);
    GD_TRY(eachRow(db,
        "SELECT node_id, address, param, offset, allocation_id FROM node_pointer WHERE process_id = ? AND "
        "role = 'param'",
        process, [&](Statement& row) {
            Access* access = add(row.int64(0), row.int64(1), 1, Role::uses, row.optionalInt64(2));
            if (access == nullptr)
                return;
            const Node& node = process.nodes[static_cast<std::size_t>(access->node)];
            if (row.int64(3) == 0 && node.type == "kernel")
                access->declared = signatures.of(node.name, access->param);
            if (const auto end = ends.find(row.int64(4)); end != ends.end() && end->second > access->address)
                access->limit = end->second;
        }));
    GD_TRY(eachRow(db, "SELECT exec_id FROM exec_update WHERE process_id = ? AND result = 0", process,
        [&](Statement& row) { result.m_updated.insert(row.int64(0)); }));
    for (auto& [graph, accesses] : result.m_byGraph)
        sortByAddress(accesses);
    return result;
}

const std::vector<Access>& GraphAccess::of(std::int64_t graphId) const {
    static const std::vector<Access> kNone;
    const auto found = m_byGraph.find(graphId);
    return found == m_byGraph.end() ? kNone : found->second;
}

std::int32_t GraphAccess::describedBy(std::int32_t node) const {
    std::int32_t at = node;
    for (int depth = 0; depth < 16 && !m_touches[static_cast<std::size_t>(at)]; ++depth) {
        const auto origin
            = m_process->nodeIndex.find(m_process->nodes[static_cast<std::size_t>(at)].originNodeId);
        if (origin == m_process->nodeIndex.end())
            break;
        at = origin->second;
    }
    return m_touches[static_cast<std::size_t>(at)] ? at : node;
}

std::vector<Access> GraphAccess::inside(const NestedGraph& graph) const {
    std::unordered_map<std::int32_t, std::vector<std::int32_t>> copies; // by the node that describes them
    std::set<std::int64_t> graphs;
    for (const NestedGraph::Place& place : graph.places) {
        const std::int32_t origin = describedBy(place.node);
        const Node& original = m_process->nodes[static_cast<std::size_t>(origin)];
        // Its parameters may have been set between: to what, is not recorded.
        if (origin != place.node && original.type == "kernel" && m_lastParamsSetNs > original.createdNs)
            continue;
        copies[origin].push_back(place.node);
        graphs.insert(original.graphId);
    }
    std::vector<Access> result;
    for (const std::int64_t id : graphs) {
        for (const Access& access : of(id)) {
            const auto found = copies.find(access.node);
            if (found == copies.end())
                continue;
            for (const std::int32_t node : found->second) {
                Access& copy = result.emplace_back(access);
                copy.node = node;
            }
        }
    }
    sortByAddress(result);
    return result;
}

} // namespace gd::facts
