// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/node_conflicts.h"

#include <algorithm>
#include <utility>

namespace gd::facts {
namespace {

using Role = Access::Role;

constexpr std::size_t kMostPairs = 20'000'000; // of overlapping ranges in one graph
constexpr std::size_t kMostDeclaredPairs = 2'000'000; // half a second

bool isDeclared(const Access& access, ParamUse use) {
    return access.role == Role::uses && access.declared == use;
}

bool hasWriter(const std::vector<Access>& accesses) {
    return std::any_of(
        accesses.begin(), accesses.end(), [](const Access& access) { return access.role == Role::writes; });
}

bool hasDeclaredWriter(const std::vector<Access>& accesses) {
    return std::any_of(accesses.begin(), accesses.end(),
        [](const Access& access) { return isDeclared(access, ParamUse::writes); });
}

const std::string& nameOf(const Node& node) {
    return node.name.empty() ? node.type : node.name;
}

} // namespace

Result<bool> NodeScalars::same(std::int64_t nodeId, std::int64_t otherId) {
    if (!m_byNode) {
        m_byNode.emplace();
        GD_TRY_ASSIGN(
            auto select, m_db.prepare("SELECT node_id, bytes, value FROM node_scalar WHERE process_id = ?"));
        select.bind(1, m_processId);
        while (true) {
            GD_TRY_ASSIGN(const bool more, select.step());
            if (!more)
                break;
            (*m_byNode)[select.int64(0)].emplace_back(select.int64(1), select.int64(2));
        }
        for (auto& [node, scalars] : *m_byNode)
            std::sort(scalars.begin(), scalars.end());
    }
    return (*m_byNode)[nodeId] == (*m_byNode)[otherId];
}

Result<std::optional<std::vector<NodeConflict>>> NodeConflicts::find(
    const Graph& graph, const NodesInside& inside, const EdgesByGraph& edges) {
    using Found = std::optional<std::vector<NodeConflict>>;
    const NestedGraph nested(m_process, graph, inside);
    const std::vector<Access> copies = nested.isFlat() ? std::vector<Access>() : m_accesses.inside(nested);
    const std::vector<Access>& accesses = nested.isFlat() ? m_accesses.of(graph.graphId) : copies;
    const bool isWritten = hasWriter(accesses);
    if (nested.places.size() < 2 || (!isWritten && !hasDeclaredWriter(accesses)))
        return Found(std::in_place);
    // Kernels never say all: where nothing else writes, a graph that cannot be judged is like one of theirs.
    const Found unknown = isWritten ? Found() : Found(std::in_place);
    if (edges.empty()) // no edge anywhere: not recorded
        return unknown;
    m_graph = &nested;
    m_order = NestedOrder::of(m_process, nested, edges);
    if (!m_order || !sweep(accesses))
        return unknown;
    GD_TRY(findDeclared(accesses));
    Found result(std::in_place);
    for (const auto& [key, conflict] : m_conflicts)
        result->push_back(conflict);
    return result;
}

// Accesses come by address; those whose range is not over yet meet each new one.
bool NodeConflicts::sweep(const std::vector<Access>& accesses) {
    std::vector<const Access*> writers;
    std::vector<const Access*> others;
    std::size_t pairs = 0;
    for (const Access& access : accesses) {
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

void NodeConflicts::meet(const Access& writer, const Access& other) {
    if (writer.node == other.node)
        return;
    const bool group = sameGroup(writer, other);
    if (group || (!m_order->ordered(writer.node, other.node) && !areCopiesOfOne(writer.node, other.node)))
        add(writer, other, group);
}

void NodeConflicts::add(const Access& writer, const Access& other, bool group) {
    const std::string& first = nameOf(describing(writer));
    const std::string& second = nameOf(describing(other));
    NodeConflict& conflict = m_conflicts[{first, second, other.role, other.param.value_or(-1)}];
    if (conflict.pairs++ > 0)
        return;
    const auto [writerHolder, otherHolder] = m_order->holders(writer.node, other.node);
    conflict = {writer, other, first, second, writerHolder, otherHolder, group, 1};
}

const Node& NodeConflicts::describing(const Access& access) const {
    return m_process.nodes[static_cast<std::size_t>(m_accesses.describedBy(access.node))];
}

bool NodeConflicts::sameGroup(const Access& a, const Access& b) const {
    const auto groupOf = [&](const Access& access) {
        const Node& node = describing(access);
        const auto found = m_groups.find(node.commOpId);
        return node.commOpId == 0 || found == m_groups.end() ? 0 : found->second;
    };
    const std::int64_t group = groupOf(a);
    return group != 0 && group == groupOf(b);
}

// One graph that was put into others twice and nothing orders the two: what would that be good for? Its
// parameters were set in between (cudaGraphMemcpyNodeSetParams and its like are not recorded).
bool NodeConflicts::areCopiesOfOne(std::int32_t a, std::int32_t b) const {
    const std::int32_t first = m_accesses.describedBy(a);
    const std::int32_t second = m_accesses.describedBy(b);
    return first != a && second != b
        && m_process.nodes[static_cast<std::size_t>(first)].graphId
        == m_process.nodes[static_cast<std::size_t>(second)].graphId
        && m_order->holders(a, b) != std::pair(a, b);
}

// --- kernels that say what they do with a pointer ---

// Only pointers that are the same: how far a kernel goes is not known.
Result<void> NodeConflicts::findDeclared(const std::vector<Access>& accesses) {
    std::vector<const Access*> users;
    for (auto at = accesses.begin(); at != accesses.end();) {
        const std::uint64_t address = at->address;
        users.clear();
        for (; at != accesses.end() && at->address == address; ++at) {
            if (isDeclared(*at, ParamUse::writes) || isDeclared(*at, ParamUse::reads))
                users.push_back(&*at);
        }
        GD_TRY(judgeDeclared(users));
    }
    return {};
}

Result<void> NodeConflicts::judgeDeclared(std::vector<const Access*>& users) {
    const auto middle = std::stable_partition(
        users.begin(), users.end(), [](const Access* user) { return isDeclared(*user, ParamUse::writes); });
    const std::vector<const Access*> writers(users.begin(), middle);
    const std::vector<const Access*> readers(middle, users.end());
    if (writers.empty() || readers.empty() || areOneAfterTheOther(users))
        return {};
    for (const Access* writer : writers) {
        for (const Access* reader : readers) {
            if (++m_declaredPairs > kMostDeclaredPairs)
                return {};
            if (writer->node == reader->node || m_order->ordered(writer->node, reader->node)
                || areCopiesOfOne(writer->node, reader->node))
                continue;
            // Other numbers may mean another part of the memory.
            GD_TRY_ASSIGN(
                const bool same, m_scalars.same(describing(*writer).nodeId, describing(*reader).nodeId));
            if (same)
                add(*writer, *reader, false);
        }
    }
    return {};
}

// What most addresses of large graphs are used by.
bool NodeConflicts::areOneAfterTheOther(const std::vector<const Access*>& users) const {
    std::vector<std::pair<std::int32_t, std::int32_t>> nodes; // by place
    nodes.reserve(users.size());
    for (const Access* user : users)
        nodes.emplace_back(m_graph->placeOf.at(user->node), user->node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        if (!m_order->before(nodes[i - 1].second, nodes[i].second))
            return false;
    }
    return true;
}

} // namespace gd::facts
