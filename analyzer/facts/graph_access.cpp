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

} // namespace

Result<GraphAccess> GraphAccess::read(Db& db, const ProcessData& process) {
    GraphAccess result;
    const auto add = [&](std::int64_t nodeId, std::int64_t address, std::int64_t bytes, Role role,
                         std::optional<std::int64_t> param) {
        const auto found = process.nodeIndex.find(nodeId);
        if (found == process.nodeIndex.end() || address == 0 || bytes <= 0)
            return;
        const std::int64_t graph = process.nodes[static_cast<std::size_t>(found->second)].graphId;
        const auto from = static_cast<std::uint64_t>(address);
        const auto length = static_cast<std::uint64_t>(bytes);
        if (graph != 0 && from + length > from)
            result.m_byGraph[graph].push_back({found->second, from, length, role, param});
    };
    GD_TRY(eachRow(db,
        "SELECT node_id, dst, src, bytes FROM graph_node WHERE process_id = ? AND graph_id IS NOT NULL "
        "AND type IN ('memcpy', 'memset', 'comm')",
        process, [&](Statement& row) {
            add(row.int64(0), row.int64(1), row.int64(3), Role::writes, std::nullopt);
            add(row.int64(0), row.int64(2), row.int64(3), Role::reads, std::nullopt);
        }));
    GD_TRY(eachRow(db,
        "SELECT node_id, address, param FROM node_pointer WHERE process_id = ? AND role = 'param'", process,
        [&](Statement& row) { add(row.int64(0), row.int64(1), 1, Role::uses, row.optionalInt64(2)); }));
    GD_TRY(eachRow(db, "SELECT exec_id FROM exec_update WHERE process_id = ? AND result = 0", process,
        [&](Statement& row) { result.m_updated.insert(row.int64(0)); }));
    for (auto& [graph, accesses] : result.m_byGraph) {
        std::stable_sort(accesses.begin(), accesses.end(),
            [](const Access& a, const Access& b) { return a.address < b.address; });
    }
    return result;
}

const std::vector<Access>& GraphAccess::of(std::int64_t graphId) const {
    static const std::vector<Access> kNone;
    const auto found = m_byGraph.find(graphId);
    return found == m_byGraph.end() ? kNone : found->second;
}

} // namespace gd::facts
