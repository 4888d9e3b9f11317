// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gd::importer {

// A graph without its ids: one label a node (hash of type, kernel name and launch shape) and edges as
// indices.
struct GraphShape {
    std::vector<std::uint64_t> labels;
    std::vector<std::pair<std::size_t, std::size_t>> edges; // from, to
};

// The same for graphs of the same nodes and edges, whatever their ids and the order of creation: identity
// across runs, ranks and comparisons. Every node's hash takes in the sorted hashes of the nodes it waits for,
// so it stands for its whole past; the graph's hash is that of the sorted node hashes.
std::uint64_t graphSignature(const GraphShape& shape);

std::uint64_t hashText(std::string_view text);
std::uint64_t hashMix(std::uint64_t hash, std::uint64_t value);

} // namespace gd::importer
