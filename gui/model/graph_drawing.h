// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gd::gui {

// One captured graph, ready to be drawn: nodes in layers, every edge from a lower to a higher layer.
struct GraphDrawing {
    struct Node {
        std::int64_t id = 0; // graph_node.node_id of the template
        std::string type; // graph_node.type
        std::string name; // kernel, collective or the type
        std::int64_t stream = -1; // it was captured from, -1 unknown
        std::int64_t timeNs
            = -1; // mean on the device over the replays recorded node by node, -1 not recorded
        std::size_t layer = 0;
        std::size_t column = 0; // in its layer, from 0
        bool critical = false; // on the path with the largest sum of times
        std::string range; // enclosing NVTX ranges at its capture, empty: none
        std::size_t members = 1; // of a run that is drawn as one node: how many; the rest is of its first
    };
    std::int64_t process = 0;
    std::int64_t graph = 0;
    std::string title;
    std::string note; // what is not shown, empty: nothing
    std::vector<Node> nodes;
    std::vector<std::pair<std::size_t, std::size_t>> edges; // indices, from → to
    std::size_t layers = 0;
    std::size_t columns = 0; // of the widest layer
    std::optional<std::size_t> selected; // node that was asked for

    std::int64_t totalNs() const; // sum of the known times
};

// More nodes than this are not drawn; the note says so.
inline constexpr std::size_t kMostGraphNodes = 2000;
// From this many on, runs of kernels are drawn as one node each, and up to kMostGroupedNodes are read for it.
inline constexpr std::size_t kGroupedFrom = 500;
inline constexpr std::size_t kMostGroupedNodes = 50'000;

// Kernels that follow each other with nothing beside them become one node, as long as they are of one NVTX
// range (without ranges: of one stream) and do not communicate. Times add up.
void groupRuns(GraphDrawing& drawing);

// Gives every node its layer (longest path from a source), its column and whether it is critical. Edges that
// close a circle, which no graph can have, are dropped.
void arrangeGraph(GraphDrawing& drawing);

// The graph that an event belongs to: `table` is "replay" or "kernel". Fails in one sentence when it belongs
// to none.
Result<GraphDrawing> readGraphOf(Db& db, const std::string& table, std::int64_t rowId);

// The kernel row of a node that starts nearest to a time, as (kernel_id, start_ns); nullopt: none was
// recorded.
Result<std::optional<std::pair<std::int64_t, std::int64_t>>> kernelOfNode(
    Db& db, const GraphDrawing& drawing, std::size_t node, std::int64_t nearNs);

} // namespace gd::gui
