// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/eager_work.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/range_path.h"
#include "analyzer/facts/stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace gd::facts {
namespace {

// Fewer kernels than this say nothing: a fill here and a copy there look like any small graph.
constexpr std::int64_t kMinKernels = 3;

// One captured graph, or what a failed capture had got until it failed.
struct Variant {
    Histogram shapes;
    std::int64_t fromNs = 0; // the first executable of it, or the failure
    bool failed = false;
};

// Graphs of the same kernels: the same code captured again, or for other launch shapes.
struct Region {
    std::string name;
    Histogram names;
    std::vector<Variant> variants;
    std::vector<const Exec*> execs;
    const Capture* failure = nullptr; // last failed capture of it
    std::int64_t firstExecNs = 0; // 0 = none ever existed
};

struct Run {
    std::int32_t step = 0;
    std::int64_t count = 0;
};

// How often a region ran in each step.
struct Runs {
    const Region* region = nullptr;
    std::vector<std::int64_t> graph; // as replays
    std::vector<std::int64_t> eager; // as single launches, without those that every step has
    std::int64_t usual = 0; // replays of a steady step that replays it; 0 = none does

    bool isUsual(std::size_t step) const { return usual > 0 && graph[step] >= usual; }
    bool isMore(std::size_t step) const { return eager[step] > 0 || graph[step] > usual; }
};

struct Found {
    bool beside = false; // only in steps that replay the region as often as others do
    std::vector<Run> eager;
    std::int64_t eagerRuns = 0;
    std::int64_t graphRuns = 0;
    std::vector<std::int64_t> eagerNs; // of one run
    std::vector<std::int64_t> graphNs;
    std::int64_t otherShapes = 0; // eager runs with launch shapes of no graph
    std::map<std::size_t, std::int64_t> shapesSeen; // such shapes, by hash: how often
    std::int64_t whileExecLived = 0; // eager runs although an executable for just these shapes was alive
    const ApiCall* launch = nullptr;
};

class FallbackFinder {
public:
    FallbackFinder(const RawData& raw, const ProcessData& process)
        : m_raw(raw)
        , m_process(process)
        , m_steps(eagerSteps(raw, process)) { }

    std::vector<std::pair<Region, Found>> find() {
        collectRegions();
        // The largest region takes its kernels first: a small one may be a part of it.
        std::vector<const Region*> order;
        for (const Region& region : m_regions)
            order.push_back(&region);
        std::stable_sort(order.begin(), order.end(),
            [](const Region* a, const Region* b) { return total(a->names) > total(b->names); });
        std::vector<Histogram> rest;
        for (const EagerStep& step : m_steps)
            rest.push_back(step.names);
        std::vector<Runs> all;
        for (const Region* region : order)
            all.push_back(runsOf(*region, rest));
        std::vector<std::pair<Region, Found>> result;
        for (const Runs& runs : all) {
            Found found = findRuns(runs, all, false);
            if (found.eagerRuns == 0)
                found = findRuns(runs, all, true);
            if (found.eagerRuns > 0)
                result.emplace_back(*runs.region, std::move(found));
        }
        return result;
    }

private:
    void collectRegions() {
        for (const Exec& exec : m_process.execs) {
            const Graph* graph = m_process.templateOf(exec);
            if (graph == nullptr || exec.result != 0)
                continue;
            Variant variant;
            Histogram names;
            addNodes(graph->nodes, names, variant.shapes);
            if (total(names) < kMinKernels)
                continue;
            Region& region = regionOf(names, m_process.graphName(graph, exec.execId));
            variant.fromNs = exec.createdNs;
            region.variants.push_back(std::move(variant));
            region.execs.push_back(&exec);
            if (region.firstExecNs == 0 || exec.createdNs < region.firstExecNs)
                region.firstExecNs = exec.createdNs;
        }
        for (const Capture& capture : m_process.captures) {
            if (capture.endResult == 0)
                continue;
            Variant variant;
            Histogram names;
            addNodes(capture.nodes, names, variant.shapes);
            if (total(names) < kMinKernels)
                continue;
            Region* region = regionAround(names);
            if (region == nullptr) {
                const std::string path
                    = rangePathAt(m_raw, m_process, capture.beginThreadId, capture.startNs);
                region = &regionOf(
                    names, path.empty() ? "region of capture " + std::to_string(capture.captureId) : path);
            }
            region->failure = &capture;
            variant.failed = true;
            variant.fromNs = capture.endNs.value_or(m_process.endNs);
            region->variants.push_back(std::move(variant));
        }
    }

    void addNodes(const std::vector<std::int32_t>& nodes, Histogram& names, Histogram& shapes) const {
        for (const std::int32_t index : nodes) {
            const Node& node = m_process.nodes[static_cast<std::size_t>(index)];
            const auto shape = m_raw.shapes.find(node.shapeId);
            if (node.type != "kernel" || shape == m_raw.shapes.end())
                continue;
            ++names[shape->second.nameId];
            ++shapes[shape->second.launchId];
        }
    }

    Region& regionOf(const Histogram& names, const std::string& name) {
        for (Region& region : m_regions) {
            const std::int64_t larger = std::max(total(region.names), total(names));
            if (copiesIn(region.names, names) >= 1 && copiesIn(names, region.names) >= 1
                && total(names) * 100 >= larger * 95)
                return region;
        }
        Region& region = m_regions.emplace_back();
        region.name = name;
        region.names = names;
        return region;
    }

    // A failed capture holds the beginning of its region.
    Region* regionAround(const Histogram& part) {
        for (Region& region : m_regions) {
            if (copiesIn(region.names, part) >= 1)
                return &region;
        }
        return nullptr;
    }

    // Takes its kernels out of `rest`.
    Runs runsOf(const Region& region, std::vector<Histogram>& rest) const {
        Runs runs{
            &region, std::vector<std::int64_t>(m_steps.size()), std::vector<std::int64_t>(m_steps.size()), 0};
        for (const Exec* exec : region.execs) {
            for (const std::int32_t index : exec->replays) {
                const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
                if (replay.step >= 0 && replay.result == 0)
                    ++runs.graph[static_cast<std::size_t>(replay.step)];
            }
        }
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            runs.eager[i] = copiesIn(rest[i], region.names);
            takeCopies(rest[i], region.names, runs.eager[i]);
        }
        const auto [usual, meant] = meantRuns(runs);
        runs.usual = usual;
        for (std::int64_t& eager : runs.eager)
            eager = std::max<std::int64_t>(0, eager - meant);
        return runs;
    }

    // The fallbacks; or, if `beside`, the runs of phases without graphs beside the usual replays.
    Found findRuns(const Runs& runs, const std::vector<Runs>& all, bool beside) const {
        Found found;
        found.beside = beside;
        for (const Exec* exec : runs.region->execs) {
            for (const std::int32_t index : exec->replays) {
                const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
                if (replay.step >= 0 && replay.result == 0 && replay.measured)
                    found.graphNs.push_back(replay.endNs - replay.startNs);
            }
        }
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            if (!counts(*runs.region, i))
                continue;
            found.graphRuns += runs.graph[i];
            if (runs.eager[i] > 0 && isBesideUsual(runs, all, i) == beside
                && !isWarmupOfLater(*runs.region, i))
                addRun(*runs.region, i, runs.eager[i], found);
        }
        return found;
    }

    // The step replays the region as often as others do, and what else is replayed as often (or, where
    // nothing is, at all) did not all run more as well: no pass of the step lacks its graph, other work has
    // none, such as an evaluation.
    bool isBesideUsual(const Runs& runs, const std::vector<Runs>& all, std::size_t step) const {
        if (!runs.isUsual(step))
            return false;
        const auto judge = [&](auto&& isSibling) -> std::optional<bool> {
            bool any = false;
            bool allMore = true;
            for (const Runs& other : all) {
                if (&other == &runs || other.usual == 0 || !isSibling(other))
                    continue;
                any = true;
                allMore = allMore && other.isMore(step);
            }
            return any ? std::optional(!allMore) : std::nullopt;
        };
        const auto asOften = judge([&](const Runs& other) { return other.usual == runs.usual; });
        return asOften ? *asOften : judge([](const Runs&) { return true; }).value_or(false);
    }

    // Eager runs of a steady step that also replays the region as often as such steps do: other code of the
    // same kernels, a layer of a model of which another layer is captured. The median, because the first and
    // the last step can be cut.
    // With how often such a step replays it, in front.
    std::pair<std::int64_t, std::int64_t> meantRuns(const Runs& runs) const {
        std::vector<std::int64_t> replays;
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            if (runs.graph[i] > 0 && m_process.steps[i].steady())
                replays.push_back(runs.graph[i]);
        }
        const double usual = percentile(replays, 90).value_or(0);
        std::vector<std::int64_t> beside;
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            if (runs.graph[i] > 0 && static_cast<double>(runs.graph[i]) >= usual
                && m_process.steps[i].steady())
                beside.push_back(runs.eager[i]);
        }
        return {static_cast<std::int64_t>(std::ceil(usual)),
            static_cast<std::int64_t>(percentile(beside, 50).value_or(0))};
    }

    // Steady state, or after the region has a graph or failed to get one.
    bool counts(const Region& region, std::size_t step) const {
        const Step& at = m_process.steps[step];
        const bool existed = region.firstExecNs != 0 && at.startNs >= region.firstExecNs;
        const bool failed = region.failure != nullptr && at.startNs >= failureNs(*region.failure);
        // Outside the recording eager work was not seen, launches of graphs were.
        return at.kind != Step::Kind::excluded && at.kind != Step::Kind::outside && (existed || failed);
    }

    static std::int64_t failureNs(const Capture& capture) { return capture.endNs.value_or(capture.startNs); }

    // These launch shapes get a graph later: a warm-up run, as every ladder of shapes has.
    bool isWarmupOfLater(const Region& region, std::size_t step) const {
        return std::any_of(region.variants.begin(), region.variants.end(), [&](const Variant& variant) {
            return !variant.failed && variant.fromNs > m_process.steps[step].startNs
                && copiesIn(m_steps[step].shapes, variant.shapes) >= 1;
        });
    }

    // What one run of the region's kernels takes of the step, on average.
    static std::int64_t ownNs(const Region& region, const EagerStep& work) {
        double sum = 0;
        for (const auto& [name, count] : region.names) {
            const auto time = work.timeNs.find(name);
            if (time != work.timeNs.end())
                sum += static_cast<double>(time->second) * static_cast<double>(count)
                    / static_cast<double>(work.names.at(name));
        }
        return std::llround(sum);
    }

    void addRun(const Region& region, std::size_t step, std::int64_t runs, Found& found) const {
        const EagerStep& work = m_steps[step];
        found.eager.push_back({static_cast<std::int32_t>(step), runs});
        found.eagerRuns += runs;
        found.eagerNs.push_back(ownNs(region, work));
        found.launch = found.launch == nullptr ? work.launch : found.launch;
        bool known = false;
        bool alive = false;
        for (std::size_t i = 0; i < region.variants.size(); ++i) {
            const Variant& variant = region.variants[i];
            if (variant.failed || copiesIn(work.shapes, variant.shapes) < 1)
                continue;
            known = true;
            alive = alive || !region.execs[i]->destroyedNs
                || *region.execs[i]->destroyedNs > m_process.steps[step].endNs;
        }
        found.whileExecLived += alive ? runs : 0;
        if (known)
            return;
        found.otherShapes += runs;
        std::size_t hash = 0;
        for (const auto& [shape, count] : work.shapes)
            hash += static_cast<std::size_t>(shape) * 0x9E3779B97F4A7C15ULL ^ static_cast<std::size_t>(count);
        ++found.shapesSeen[hash];
    }

    const RawData& m_raw;
    const ProcessData& m_process;
    std::vector<EagerStep> m_steps;
    std::vector<Region> m_regions;
};

struct Reason {
    const char* word = "unknown";
    std::string detail;
};

Reason reasonOf(const ProcessData& process, const Region& region, const Found& found, bool updateFailed) {
    if (found.beside)
        return {"beside",
            "these steps also replay it as often as others do: a phase without graphs runs beside the "
            "replays, "
            "such as an evaluation"};
    const std::string execs = std::to_string(region.execs.size())
        + (region.execs.size() == 1 ? " executable graph exists" : " executable graphs exist");
    const Step& first = process.steps[static_cast<std::size_t>(found.eager.front().step)];
    const bool failedBefore
        = region.failure != nullptr && region.failure->endNs.value_or(region.failure->startNs) <= first.endNs;
    if (failedBefore
        && (region.execs.empty() || found.otherShapes == 0 || region.firstExecNs > first.startNs))
        return {"capture_failed", "its capture had failed before"};
    if (updateFailed)
        return {"update_failed", "an update of its executable was refused before"};
    if (found.otherShapes > 0) {
        // Shapes that come again and again without ever being captured: something stops the capture.
        const bool recurring = std::any_of(found.shapesSeen.begin(), found.shapesSeen.end(),
            [](const auto& seen) { return seen.second >= 2; });
        const std::string shapes = std::to_string(found.shapesSeen.size())
            + (found.shapesSeen.size() == 1 ? " launch shape has none" : " launch shapes have none");
        if (recurring)
            return {"limit",
                execs + ", " + shapes
                    + (found.shapesSeen.size() == 1 ? " although it comes" : " although they come")
                    + " again"};
        return {"new_shape", execs + ", " + shapes};
    }
    if (found.whileExecLived < found.eagerRuns)
        return {"limit", "its executables had been destroyed"};
    return {"unknown", execs + " and would have fitted"};
}

Result<void> write(Statement& insert, const ProcessData& process, const Region& region, const Found& found,
    const Reason& reason) {
    const Step& first = process.steps[static_cast<std::size_t>(found.eager.front().step)];
    const Step& last = process.steps[static_cast<std::size_t>(found.eager.back().step)];
    const auto eagerMedian = medianNs(found.eagerNs);
    const auto graphMedian = medianNs(found.graphNs);
    std::optional<std::int64_t> cost;
    if (eagerMedian && graphMedian)
        cost = std::max<std::int64_t>(0, *eagerMedian - *graphMedian) * found.eagerRuns;
    const bool byCapture = std::string_view(reason.word) == "capture_failed";
    std::int64_t stack = found.launch == nullptr ? 0 : found.launch->stackId;
    if (stack == 0 && region.failure != nullptr && byCapture)
        stack = region.failure->beginStackId;
    for (const Exec* exec : region.execs) {
        const Graph* graph = process.templateOf(*exec);
        const Capture* capture = graph == nullptr ? nullptr : process.capture(graph->captureId);
        stack = stack != 0 ? stack : capture != nullptr ? capture->beginStackId : exec->stackId;
    }
    const std::int64_t thread = found.launch != nullptr ? found.launch->threadId : first.threadId;
    return insert.runWith(process.processId, region.name, first.startNs, last.endNs, first.step, last.step,
        found.eagerRuns, found.graphRuns,
        static_cast<double>(found.eagerRuns) / static_cast<double>(found.eagerRuns + found.graphRuns),
        region.execs.size(), reason.word, reason.detail, eagerMedian, graphMedian, cost,
        byCapture ? std::optional(region.failure->captureId) : std::nullopt, orNull(thread), orNull(stack),
        // What was seen did happen; gaps (a few replays between two levels) only hide more of it.
        process.completeShare("eager_kernel_activity", first.startNs, last.endNs) >= 0.5);
}

} // namespace

Result<void> buildFallback(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO fallback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    GD_TRY_ASSIGN(auto failedUpdate,
        context.db.prepare("SELECT 1 FROM exec_update WHERE process_id = ? AND exec_id = ? AND end_ns < ? "
                           "AND result <> 0 LIMIT 1"));
    for (const ProcessData& process : context.raw.processes) {
        for (const auto& [region, found] : FallbackFinder(context.raw, process).find()) {
            bool updateFailed = false;
            for (const Exec* exec : region.execs) {
                failedUpdate.bind(1, process.processId);
                failedUpdate.bind(2, exec->execId);
                failedUpdate.bind(3, process.steps[static_cast<std::size_t>(found.eager.front().step)].endNs);
                GD_TRY_ASSIGN(const bool row, failedUpdate.step());
                updateFailed = updateFailed || row;
                failedUpdate.reset();
            }
            GD_TRY(write(insert, process, region, found, reasonOf(process, region, found, updateFailed)));
        }
    }
    return {};
}

} // namespace gd::facts
