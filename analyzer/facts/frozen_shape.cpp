// SPDX-License-Identifier: Apache-2.0
// Finds regions whose eager runs came in several sizes while the only graph of them has one.
#include "analyzer/facts/frozen_shape.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gd::facts {
namespace {

// Fewer kernels in a row occur at several places of a model, in different sizes.
constexpr std::size_t kLeastKernels = 32;

// A kernel or a collective by what it is, and its size.
struct Item {
    std::int64_t name = 0; // number of the kernel's name, or of the kind of call
    std::int64_t commHash = 0; // calls
    std::int64_t size = 0; // kernel_shape, or bytes
    std::int64_t stackId = 0;

    bool isAlike(const Item& other) const { return name == other.name && commHash == other.commHash; }
};
using Items = std::vector<Item>;

// Where `pattern` begins in `sequence`, without overlaps and whatever the sizes (Knuth, Morris and Pratt).
std::vector<std::size_t> occurrences(const Items& sequence, const Items& pattern) {
    std::vector<std::size_t> found;
    const std::size_t size = pattern.size();
    std::vector<std::size_t> border(size, 0);
    for (std::size_t i = 1, k = 0; i < size; ++i) {
        while (k > 0 && !pattern[i].isAlike(pattern[k]))
            k = border[k - 1];
        k += pattern[i].isAlike(pattern[k]) ? 1 : 0;
        border[i] = k;
    }
    for (std::size_t i = 0, k = 0; size > 0 && i < sequence.size(); ++i) {
        while (k > 0 && !sequence[i].isAlike(pattern[k]))
            k = border[k - 1];
        k += sequence[i].isAlike(pattern[k]) ? 1 : 0;
        if (k == size) {
            found.push_back(i + 1 - size);
            k = 0;
        }
    }
    return found;
}

// An item whose size differs from eager run to eager run.
struct Varying {
    const Item* captured = nullptr; // null: none
    std::int64_t items = 0;
    std::vector<std::int64_t> sizes; // of the eager runs, in their order
    std::size_t different = 0;
    std::size_t runs = 0;
};

Varying varyingOf(const Items& eager, const Items& captured) {
    Varying varying;
    const std::vector<std::size_t> runs = occurrences(eager, captured);
    varying.runs = runs.size();
    for (std::size_t i = 0; i < captured.size(); ++i) {
        std::vector<std::int64_t> sizes;
        for (const std::size_t run : runs)
            sizes.push_back(eager[run + i].size);
        const std::size_t different = std::set<std::int64_t>(sizes.begin(), sizes.end()).size();
        if (different < 2)
            continue;
        ++varying.items;
        if (different > varying.different) {
            varying.captured = &captured[i];
            varying.sizes = sizes;
            varying.different = different;
        }
    }
    return varying;
}

class ShapeNames {
public:
    static Result<ShapeNames> read(Db& db) {
        GD_TRY_ASSIGN(auto select, db.prepare("SELECT shape_id, grid_x, grid_y, grid_z FROM kernel_shape"));
        ShapeNames names;
        while (true) {
            GD_TRY_ASSIGN(const bool more, select.step());
            if (!more)
                return names;
            names.m_grids[select.int64(0)] = {select.int64(1), select.int64(2), select.int64(3)};
        }
    }
    // "64", or "64x2x1" where more than one dimension is used.
    std::string grid(std::int64_t shapeId) const {
        const auto found = m_grids.find(shapeId);
        if (found == m_grids.end())
            return "unknown";
        const auto& [x, y, z] = found->second;
        std::string text = std::to_string(x);
        if (y != 1 || z != 1)
            text += "x" + std::to_string(y) + "x" + std::to_string(z);
        return text;
    }

private:
    std::map<std::int64_t, std::tuple<std::int64_t, std::int64_t, std::int64_t>> m_grids;
};

template <class Text> std::string listOf(const std::vector<std::int64_t>& sizes, const Text& text) {
    constexpr std::size_t kShown = 5;
    std::string list;
    for (std::size_t i = 0; i < std::min(sizes.size(), kShown); ++i)
        list += (i == 0 ? "" : ", ") + text(sizes[i]);
    return sizes.size() > kShown ? list + ", ..." : list;
}

// What one process did eagerly before its first replay, and what its graphs hold.
class Region {
public:
    static Result<Region> read(const FactContext& context, const ProcessData& process) {
        Region region(process);
        GD_TRY_ASSIGN(auto select,
            context.db.prepare("SELECT shape_id FROM eager_launch WHERE process_id = ? ORDER BY time_ns, "
                               "launch_id"));
        select.bind(1, process.processId);
        while (true) {
            GD_TRY_ASSIGN(const bool more, select.step());
            if (!more)
                break;
            const std::int64_t shape = select.int64(0);
            region.m_kernels.push_back({region.number(context.raw.shapeName(shape)), 0, shape, 0});
        }
        for (const CommOp& op : process.commOps) {
            if (op.captureId == 0)
                region.m_calls.push_back(region.itemOf(op));
            else
                region.m_captured[op.captureId].push_back(region.itemOf(op));
        }
        region.findSizes();
        GD_TRY(region.readUpdates(context.db));
        return region;
    }

    // Its parameters were replaced: what its template holds says nothing about it.
    bool isUpdated(const Exec& exec) const { return m_updated.contains(exec.execId); }

    Items kernelsOf(const Graph& graph) {
        Items items;
        for (const std::int32_t index : graph.nodes) {
            const Node& node = m_process.nodes[static_cast<std::size_t>(index)];
            if (node.type == "kernel")
                items.push_back({number(node.name), 0, node.shapeId, node.stackId});
        }
        return items;
    }
    const Items& callsOf(const Graph& graph) const {
        static const Items kNone;
        const auto found = m_captured.find(graph.captureId);
        return graph.captureId == 0 || found == m_captured.end() ? kNone : found->second;
    }
    std::string nameOf(const Item& item) const {
        return std::string(m_names[static_cast<std::size_t>(item.name)]);
    }
    const Items& eagerKernels() const { return m_kernels; }
    const Items& eagerCalls() const { return m_calls; }
    // Several graphs of these kernels that differ in sizes ran: the job has one for each size.
    bool hasOneSize(const Items& kernels) const {
        const auto found = m_sizes.find(namesOf(kernels));
        return found == m_sizes.end() || found->second.size() < 2;
    }

private:
    using Names = std::vector<std::int64_t>;

    explicit Region(const ProcessData& process)
        : m_process(process) { }

    Item itemOf(const CommOp& op) { return {number(op.kind), op.commHash, op.messageBytes, op.stackId}; }
    std::int64_t number(std::string_view name) {
        const auto [entry, isNew] = m_numbers.try_emplace(name, static_cast<std::int64_t>(m_names.size()));
        if (isNew)
            m_names.push_back(name);
        return entry->second;
    }
    static Names namesOf(const Items& items) {
        Names names;
        for (const Item& item : items)
            names.push_back(item.name);
        return names;
    }
    Result<void> readUpdates(Db& db) {
        GD_TRY_ASSIGN(
            auto select, db.prepare("SELECT exec_id FROM exec_update WHERE process_id = ? AND result = 0"));
        select.bind(1, m_process.processId);
        while (true) {
            GD_TRY_ASSIGN(const bool more, select.step());
            if (!more)
                return {};
            m_updated.insert(select.int64(0));
        }
    }
    void findSizes() {
        for (const Exec& exec : m_process.execs) {
            const Graph* graph = m_process.templateOf(exec);
            if (graph == nullptr || exec.replays.empty())
                continue;
            const Items items = kernelsOf(*graph);
            std::vector<std::int64_t> sizes;
            for (const Item& item : items)
                sizes.push_back(item.size);
            m_sizes[namesOf(items)].insert(std::move(sizes));
        }
    }

    const ProcessData& m_process;
    std::unordered_map<std::string_view, std::int64_t> m_numbers;
    std::vector<std::string_view> m_names;
    Items m_kernels; // eager, by time
    Items m_calls; // eager, by time
    std::map<std::int64_t, Items> m_captured; // calls by capture
    std::map<Names, std::set<std::vector<std::int64_t>>> m_sizes;
    std::set<std::int64_t> m_updated;
};

Result<void> writeExec(Statement& insert, const ProcessData& process, const Exec& exec, const Graph& graph,
    Region& region, const ShapeNames& shapes) {
    const Items kernels = region.kernelsOf(graph);
    if (kernels.empty() || !region.hasOneSize(kernels))
        return {};
    const Varying kernel = varyingOf(region.eagerKernels(), kernels);
    const bool isLong = kernels.size() >= kLeastKernels;
    const bool known = isLong && kernel.runs >= 2; // else there is nothing to compare
    const bool varies = isLong && kernel.captured != nullptr;
    const Varying call = varyingOf(region.eagerCalls(), region.callsOf(graph));
    const Replay& first = process.replays[static_cast<std::size_t>(exec.replays.front())];
    const Replay& last = process.replays[static_cast<std::size_t>(exec.replays.back())];
    const auto launches = std::count_if(exec.replays.begin(), exec.replays.end(),
        [&](std::int32_t index) { return process.replays[static_cast<std::size_t>(index)].result == 0; });
    const Capture* capture = process.capture(graph.captureId);
    const auto grid = [&](std::int64_t shape) { return shapes.grid(shape); };
    const auto bytes = [](std::int64_t count) { return std::to_string(count); };
    const bool hasCall = varies && call.captured != nullptr;
    return insert.runWith(process.processId, exec.execId, process.graphName(&graph, exec.execId), kernel.runs,
        varies ? kernel.different : 1, kernel.items,
        varies ? std::optional(region.nameOf(*kernel.captured)) : std::nullopt,
        varies ? std::optional(listOf(kernel.sizes, grid)) : std::nullopt,
        varies ? std::optional(grid(kernel.captured->size)) : std::nullopt,
        hasCall ? std::optional(call.captured->commHash) : std::nullopt,
        hasCall ? std::optional(region.nameOf(*call.captured)) : std::nullopt,
        hasCall ? std::optional(listOf(call.sizes, bytes)) : std::nullopt,
        hasCall ? std::optional(call.captured->size) : std::nullopt,
        hasCall ? orNull(call.captured->stackId) : std::nullopt, launches, first.launchStartNs,
        last.launchEndNs, process.stepNumberAt(first.launchStartNs),
        capture == nullptr ? orNull(graph.stackId) : orNull(capture->beginStackId), known,
        known ? std::nullopt
            : isLong
            ? std::optional<std::string>("no eager run of a graph's kernels was recorded to compare it with")
            : std::optional<std::string>("the graphs have too few kernels to be told from others"));
}

} // namespace

Result<void> buildFrozenShape(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO frozen_shape VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?)"));
    GD_TRY_ASSIGN(const ShapeNames shapes, ShapeNames::read(context.db));
    for (const ProcessData& process : context.raw.processes) {
        GD_TRY_ASSIGN(Region region, Region::read(context, process));
        for (const Exec& exec : process.execs) {
            const Graph* graph = process.templateOf(exec);
            const bool ran = graph != nullptr && !exec.replays.empty() && !region.isUpdated(exec);
            if (ran)
                GD_TRY(writeExec(insert, process, exec, *graph, region, shapes));
        }
    }
    return {};
}

} // namespace gd::facts
