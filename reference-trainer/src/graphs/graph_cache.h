// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_entry.h"

#include <cstddef>
#include <map>

namespace gdt::graphs {

/// What happens when a graph is wanted and the cache holds its maximum.
enum class CachePolicy {
    Fallback, ///< the newcomer runs eagerly
    Lru, ///< the graph that was used longest ago makes room
    Lfu, ///< the graph that was used least often makes room, of several the one used longest ago
};

/// All keys seen so far, and the rule for which of them may hold a graph. References to entries stay valid.
/// One thread.
class GraphCache {
public:
    GraphCache(std::size_t maxGraphs, CachePolicy policy)
        : m_maxGraphs(maxGraphs)
        , m_policy(policy) { }

    /// The entry of `key`, created Cold when it is new.
    GraphEntry& find(const GraphKey& key);

    /// Number of entries that hold a graph.
    [[nodiscard]] std::size_t graphs() const;
    [[nodiscard]] bool full() const { return graphs() >= m_maxGraphs; }
    /// The entry to give up so that another can capture, null when the policy gives none up. Optimizer graphs
    /// are never given up: they are used in every step.
    [[nodiscard]] GraphEntry* victim();

    [[nodiscard]] const std::map<GraphKey, GraphEntry>& entries() const { return m_entries; }

private:
    std::size_t m_maxGraphs;
    CachePolicy m_policy;
    std::map<GraphKey, GraphEntry> m_entries;
};

} // namespace gdt::graphs
