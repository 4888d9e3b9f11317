// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/graph_access.h"
#include "analyzer/facts/nested_order.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gd::facts {

// Two accesses of nodes that nothing orders. `writer` is known to write, or it is a kernel that declares so;
// then the other is a kernel that declares to read.
struct NodeConflict {
    Access writer;
    Access other;
    std::string writerName; // or type; copies of nodes have the original's
    std::string otherName;
    // Nodes of the graph that has both: themselves, or the ones whose child graphs they are in.
    std::int32_t writerHolder = 0;
    std::int32_t otherHolder = 0;
    bool sameGroup = false; // calls of one communication group
    std::int64_t pairs = 0; // of nodes with these names
};

// Scalar parameters of a process's graph nodes, read when they are asked for first.
class NodeScalars {
public:
    NodeScalars(Db& db, std::int64_t processId)
        : m_db(db)
        , m_processId(processId) { }
    // The same values, whatever their order.
    Result<bool> same(std::int64_t nodeId, std::int64_t otherId);

private:
    Db& m_db;
    std::int64_t m_processId;
    std::optional<std::unordered_map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>>
        m_byNode; // bytes and value, sorted
};

// Finds the conflicts of one graph, with what is inside its child graphs.
class NodeConflicts {
public:
    NodeConflicts(const ProcessData& process, const GraphAccess& accesses, NodeScalars& scalars,
        const std::unordered_map<std::int64_t, std::int64_t>& commGroups) // by communication call
        : m_process(process)
        , m_accesses(accesses)
        , m_scalars(scalars)
        , m_groups(commGroups) { }

    // One for each pair of names; nullopt: it cannot be told.
    Result<std::optional<std::vector<NodeConflict>>> find(
        const Graph& graph, const NodesInside& inside, const EdgesByGraph& edges);

private:
    bool sweep(const std::vector<Access>& accesses);
    void meet(const Access& writer, const Access& other);
    void add(const Access& writer, const Access& other, bool sameGroup);
    const Node& describing(const Access& access) const;
    bool sameGroup(const Access& a, const Access& b) const;
    bool areCopiesOfOne(std::int32_t a, std::int32_t b) const;
    Result<void> findDeclared(const std::vector<Access>& accesses);
    Result<void> judgeDeclared(std::vector<const Access*>& users);
    bool areOneAfterTheOther(const std::vector<const Access*>& users) const;

    const ProcessData& m_process;
    const GraphAccess& m_accesses;
    NodeScalars& m_scalars;
    const std::unordered_map<std::int64_t, std::int64_t>& m_groups;
    const NestedGraph* m_graph = nullptr; // while find runs
    std::optional<NestedOrder> m_order;
    std::size_t m_declaredPairs = 0;
    std::map<std::tuple<std::string, std::string, Access::Role, std::int64_t>, NodeConflict> m_conflicts;
};

} // namespace gd::facts
