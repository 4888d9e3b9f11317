// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gd::facts {

// Which nodes of a graph wait for which others. Nodes are numbered from 0.
class NodeOrder {
public:
    static constexpr std::size_t kMostCells = 50'000'000; // 200 MB

    // nullopt when the edges form a circle, or the graph is too large and too wide to judge.
    static std::optional<NodeOrder> of(
        std::size_t nodes, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges);

    // One of them waits for the other, directly or not.
    bool ordered(std::size_t a, std::size_t b) const { return before(a, b) || before(b, a); }
    // The second waits for the first, directly or not.
    bool before(std::size_t a, std::size_t b) const {
        return m_reached[b * m_chains + static_cast<std::size_t>(m_chainOf[a])] > m_placeOf[a];
    }
    // How much memory it takes.
    std::size_t cells() const { return m_reached.size(); }

private:
    // Chains cover the nodes; of each chain a node waits for a first part, whose length is kept.
    std::size_t m_chains = 0;
    std::vector<std::int32_t> m_chainOf; // by node
    std::vector<std::int32_t> m_placeOf; // by node: place in its chain
    std::vector<std::int32_t> m_reached; // by node and chain
};

} // namespace gd::facts
