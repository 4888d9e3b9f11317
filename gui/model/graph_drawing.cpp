// SPDX-License-Identifier: Apache-2.0
#include "gui/model/graph_drawing.h"

#include "gui/model/category.h"
#include "gui/model/words.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace gd::gui {
namespace {

// Times of nodes need a scan of all kernels: a trace so large that this takes longer is drawn without them.
constexpr std::chrono::seconds kTimeLimit{5};

Result<void> readNodes(Db& db, GraphDrawing& out, std::map<std::int64_t, std::size_t>& index) {
    GD_TRY_ASSIGN(auto rows,
        db.prepare("SELECT node_id, type, coalesce(name, type), stream_id, range_path FROM graph_node "
                   "WHERE process_id = ? AND graph_id = ? ORDER BY node_id"));
    rows.bind(1, out.process);
    rows.bind(2, out.graph);
    std::size_t count = 0;
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            break;
        if (++count > kMostGroupedNodes)
            continue;
        GraphDrawing::Node node;
        node.id = rows.int64(0);
        node.type = rows.text(1);
        node.name = rows.text(2);
        node.stream = rows.optionalInt64(3).value_or(-1);
        node.range = rows.text(4);
        index[node.id] = out.nodes.size();
        out.nodes.push_back(std::move(node));
    }
    if (count > kMostGroupedNodes)
        out.note = Words::fill(Words::tr("the first %1 of %2 nodes"), kMostGroupedNodes, count);
    return {};
}

void addNote(GraphDrawing& drawing, const std::string& note) {
    drawing.note += (drawing.note.empty() ? "" : "; ") + note;
}

// The first ones, where even the runs are too many.
void cut(GraphDrawing& drawing) {
    if (drawing.nodes.size() <= kMostGraphNodes)
        return;
    addNote(drawing,
        Words::fill(Words::tr("the first %1 of %2 runs of nodes"), kMostGraphNodes, drawing.nodes.size()));
    drawing.nodes.resize(kMostGraphNodes);
    std::erase_if(drawing.edges,
        [](const auto& edge) { return edge.first >= kMostGraphNodes || edge.second >= kMostGraphNodes; });
    if (drawing.selected && *drawing.selected >= kMostGraphNodes)
        drawing.selected.reset();
}

Result<void> readEdges(Db& db, GraphDrawing& out, const std::map<std::int64_t, std::size_t>& index) {
    GD_TRY_ASSIGN(auto rows,
        db.prepare("SELECT from_node_id, to_node_id FROM graph_edge WHERE process_id = ? AND graph_id = ?"));
    rows.bind(1, out.process);
    rows.bind(2, out.graph);
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return {};
        const auto from = index.find(rows.int64(0));
        const auto to = index.find(rows.int64(1));
        if (from != index.end() && to != index.end())
            out.edges.emplace_back(from->second, to->second);
    }
}

Result<void> readTimes(Db& db, GraphDrawing& out, const std::map<std::int64_t, std::size_t>& index) {
    GD_TRY_ASSIGN(auto rows,
        db.prepare("SELECT n.origin_node_id, avg(k.dur_ns) FROM kernel AS k JOIN track AS t USING (track_id) "
                   "JOIN graph_node AS n ON n.process_id = t.process_id AND n.node_id = k.node_id "
                   "JOIN graph_exec AS e ON e.process_id = n.process_id AND e.exec_id = n.exec_id "
                   "WHERE k.node_id IS NOT NULL AND t.process_id = ? AND e.graph_id = ? GROUP BY 1"));
    rows.bind(1, out.process);
    rows.bind(2, out.graph);
    const base::TimeLimitScope limit(db, kTimeLimit);
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return {};
        if (const auto at = index.find(rows.int64(0)); at != index.end())
            out.nodes[at->second].timeNs = static_cast<std::int64_t>(rows.real(1));
    }
}

void findCritical(GraphDrawing& drawing, const std::vector<std::size_t>& order) {
    if (drawing.totalNs() <= 0)
        return;
    std::vector<std::int64_t> until(drawing.nodes.size());
    std::vector<std::size_t> before(drawing.nodes.size(), drawing.nodes.size());
    std::vector<std::vector<std::size_t>> next(drawing.nodes.size());
    for (const auto& [from, to] : drawing.edges)
        next[from].push_back(to);
    std::size_t last = order.front();
    for (const std::size_t node : order) {
        until[node] += std::max<std::int64_t>(0, drawing.nodes[node].timeNs);
        if (until[node] > until[last])
            last = node;
        for (const std::size_t to : next[node]) {
            if (until[node] > until[to] || before[to] == drawing.nodes.size()) {
                until[to] = until[node];
                before[to] = node;
            }
        }
    }
    for (std::size_t node = last; node < drawing.nodes.size(); node = before[node])
        drawing.nodes[node].critical = true;
}

// As the timeline calls it.
Result<std::string> processWords(Db& db, std::int64_t process) {
    GD_TRY_ASSIGN(auto row, db.prepare("SELECT pid, rank FROM process WHERE process_id = ?"));
    row.bind(1, process);
    GD_TRY_ASSIGN(const bool found, row.step());
    const std::int64_t pid = found ? row.int64(0) : process;
    return found && !row.isNull(1) ? Words::fill(Words::tr("rank %1, process %2"), row.int64(1), pid)
                                   : Words::fill(Words::tr("process %1"), pid);
}

} // namespace

std::int64_t GraphDrawing::totalNs() const {
    std::int64_t sum = 0;
    for (const Node& node : nodes)
        sum += std::max<std::int64_t>(0, node.timeNs);
    return sum;
}

void groupRuns(GraphDrawing& drawing) {
    const std::size_t count = drawing.nodes.size();
    std::vector<std::size_t> in(count), out(count), head(count);
    for (const auto& [from, to] : drawing.edges) {
        ++out[from];
        ++in[to];
    }
    std::iota(head.begin(), head.end(), std::size_t{0});
    const auto headOf = [&head](std::size_t node) {
        while (head[node] != node)
            node = head[node] = head[head[node]];
        return node;
    };
    const auto belongTogether = [&](const GraphDrawing::Node& a, const GraphDrawing::Node& b) {
        const auto isPlain = [](const GraphDrawing::Node& node) {
            return node.type == "kernel" && kernelCategory(node.name) != Category::comm;
        };
        return isPlain(a) && isPlain(b) && a.range == b.range && (!a.range.empty() || a.stream == b.stream);
    };
    for (const auto& [from, to] : drawing.edges) {
        const bool alone = out[from] == 1 && in[to] == 1;
        if (alone && from != to && belongTogether(drawing.nodes[from], drawing.nodes[to]))
            head[std::max(headOf(from), headOf(to))] = std::min(headOf(from), headOf(to));
    }
    std::vector<std::size_t> place(count, count); // of heads among those that stay
    std::vector<GraphDrawing::Node> nodes;
    for (std::size_t i = 0; i < count; ++i) {
        const GraphDrawing::Node& node = drawing.nodes[i];
        const std::size_t first = headOf(i); // not after i
        if (first == i) {
            place[i] = nodes.size();
            nodes.push_back(node);
            continue;
        }
        place[i] = place[first];
        GraphDrawing::Node& run = nodes[place[first]];
        ++run.members;
        if (node.timeNs >= 0)
            run.timeNs = std::max<std::int64_t>(0, run.timeNs) + node.timeNs;
    }
    std::set<std::pair<std::size_t, std::size_t>> edges;
    for (const auto& [from, to] : drawing.edges) {
        if (place[from] != place[to])
            edges.emplace(place[from], place[to]);
    }
    drawing.nodes = std::move(nodes);
    drawing.edges.assign(edges.begin(), edges.end());
    if (drawing.selected)
        drawing.selected = place[*drawing.selected];
}

void arrangeGraph(GraphDrawing& drawing) {
    const std::size_t count = drawing.nodes.size();
    if (count == 0)
        return;
    std::vector<std::vector<std::size_t>> next(count), previous(count);
    std::vector<std::size_t> open(count);
    for (const auto& [from, to] : drawing.edges) {
        next[from].push_back(to);
        previous[to].push_back(from);
        ++open[to];
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i) {
        if (open[i] == 0)
            order.push_back(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const std::size_t to : next[order[i]]) {
            drawing.nodes[to].layer = std::max(drawing.nodes[to].layer, drawing.nodes[order[i]].layer + 1);
            if (--open[to] == 0)
                order.push_back(to);
        }
    }
    if (order.size() < count) { // a circle: what is on it stands in the first layer, without those edges
        for (std::size_t i = 0; i < count; ++i) {
            if (open[i] > 0) {
                drawing.nodes[i].layer = 0;
                order.push_back(i);
            }
        }
        std::erase_if(drawing.edges,
            [&](const auto& e) { return drawing.nodes[e.first].layer >= drawing.nodes[e.second].layer; });
    }

    // Columns: below the middle of what leads to a node, else in the order of creation.
    std::vector<std::vector<std::size_t>> layers;
    for (const std::size_t node : order) {
        layers.resize(std::max(layers.size(), drawing.nodes[node].layer + 1));
        layers[drawing.nodes[node].layer].push_back(node);
    }
    std::vector<double> wish(count);
    for (auto& layer : layers) {
        for (std::size_t i = 0; i < layer.size(); ++i) {
            double sum = 0;
            for (const std::size_t from : previous[layer[i]])
                sum += static_cast<double>(drawing.nodes[from].column);
            wish[layer[i]] = previous[layer[i]].empty()
                ? static_cast<double>(i)
                : sum / static_cast<double>(previous[layer[i]].size());
        }
        std::stable_sort(
            layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
        for (std::size_t i = 0; i < layer.size(); ++i)
            drawing.nodes[layer[i]].column = i;
        drawing.columns = std::max(drawing.columns, layer.size());
    }
    drawing.layers = layers.size();
    findCritical(drawing, order);
}

Result<GraphDrawing> readGraphOf(Db& db, const std::string& table, std::int64_t rowId) {
    GraphDrawing out;
    std::int64_t nodeId = -1;
    const std::string sql = table == "replay"
        ? "SELECT r.process_id, e.graph_id, NULL FROM replay AS r JOIN graph_exec AS e "
          "ON e.process_id = r.process_id AND e.exec_id = r.exec_id WHERE r.replay_id = ?"
        : "SELECT t.process_id, e.graph_id, n.origin_node_id FROM kernel AS k JOIN track AS t USING "
          "(track_id) "
          "JOIN graph_node AS n ON n.process_id = t.process_id AND n.node_id = k.node_id "
          "JOIN graph_exec AS e ON e.process_id = n.process_id AND e.exec_id = n.exec_id WHERE k.kernel_id = "
          "?";
    if (table != "replay" && table != "kernel")
        return fail(ErrorCode::notFound, "{}",
            Words::fill(
                Words::tr("a graph belongs to a replay or to a kernel of one: select such an event")));
    {
        GD_TRY_ASSIGN(auto row, db.prepare(sql));
        row.bind(1, rowId);
        GD_TRY_ASSIGN(const bool found, row.step());
        if ((!found || row.isNull(1)) && table == "kernel")
            return fail(ErrorCode::notFound, "{}", Words::fill(Words::tr("this kernel ran outside graphs")));
        if (!found || row.isNull(1))
            return fail(ErrorCode::notFound, "{}",
                Words::fill(Words::tr("the graph of this replay was made before recording began")));
        out.process = row.int64(0);
        out.graph = row.int64(1);
        nodeId = row.optionalInt64(2).value_or(-1);
    }
    std::map<std::int64_t, std::size_t> index;
    GD_TRY(readNodes(db, out, index));
    GD_TRY(readEdges(db, out, index));
    // Without times the shape still helps.
    if (!readTimes(db, out, index))
        addNote(out, Words::fill(Words::tr("times of nodes are left out: the trace is too large")));
    if (const auto at = index.find(nodeId); at != index.end())
        out.selected = at->second;
    GD_TRY_ASSIGN(const std::string process, processWords(db, out.process));
    out.title = Words::fill(Words::tr("graph %1 of %2: %3 nodes, %4 edges"), out.graph, process,
        out.nodes.size(), out.edges.size());
    if (out.nodes.size() > kGroupedFrom) {
        groupRuns(out);
        addNote(out,
            Words::fill(Words::tr("runs of kernels are drawn as one node: %1 are left"), out.nodes.size()));
        cut(out);
    }
    arrangeGraph(out);
    return out;
}

Result<std::optional<std::pair<std::int64_t, std::int64_t>>> kernelOfNode(
    Db& db, const GraphDrawing& drawing, std::size_t node, std::int64_t nearNs) {
    using Found = std::optional<std::pair<std::int64_t, std::int64_t>>;
    GD_TRY_ASSIGN(auto row,
        db.prepare("SELECT k.kernel_id, k.start_ns FROM graph_exec AS e JOIN graph_node AS n "
                   "ON n.process_id = e.process_id AND n.exec_id = e.exec_id AND n.origin_node_id = :node "
                   "JOIN kernel AS k ON k.node_id = n.node_id "
                   "JOIN track AS t ON t.track_id = k.track_id AND t.process_id = e.process_id "
                   "WHERE e.process_id = :process AND e.graph_id = :graph ORDER BY abs(k.start_ns - :near) "
                   "LIMIT 1"));
    row.bind(":node", drawing.nodes[node].id);
    row.bind(":process", drawing.process);
    row.bind(":graph", drawing.graph);
    row.bind(":near", nearNs);
    const base::TimeLimitScope limit(db, kTimeLimit);
    GD_TRY_ASSIGN(const bool found, row.step());
    return found ? Found(std::in_place, row.int64(0), row.int64(1)) : Found();
}

} // namespace gd::gui
