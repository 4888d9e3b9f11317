// SPDX-License-Identifier: Apache-2.0
// What a job says of itself: docs/recording.md has the forms.
#include "analyzer/facts/job_words.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace gd::facts {
namespace {

constexpr std::string_view kGraph = "graph ";
constexpr std::string_view kVersions = "versions: built for CUDA ";
constexpr std::string_view kRuntime = ", runtime CUDA ";
constexpr std::string_view kArrow = " -> ";
constexpr std::string_view kCuda = "CUDA ";
constexpr std::int64_t kMaxPart = 999; // of a version

bool isDigit(char letter) {
    return letter >= '0' && letter <= '9';
}

bool isWord(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || letter == '-' || letter == '_';
    });
}

// The number at the start of `text`, which is shortened by it.
std::optional<std::int64_t> takeNumber(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > kMaxPart)
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// "13.0" of "13.0.1, driver 580".
std::string_view versionAt(std::string_view text) {
    const auto end = std::find_if(
        text.begin(), text.end(), [](char letter) { return !isDigit(letter) && letter != '.'; });
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

struct Versions {
    Statement insert;

    Result<void> add(std::int64_t process, const char* component, std::string_view text, const char* source) {
        const std::string_view version = versionAt(text);
        if (const auto number = cudaNumber(version))
            return insert.runWith(process, component, std::string(version), *number, source);
        return {};
    }
};

Result<void> addFacts(FactContext& context, Versions& versions) {
    GD_TRY_ASSIGN(auto rows,
        context.db.prepare("SELECT DISTINCT process_id, key, value FROM process_fact "
                           "WHERE key IN ('driver_version', 'cuda_runtime_version') ORDER BY 1, 2, 3"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, rows.step());
        if (!row)
            return {};
        const bool driver = rows.text(1) == "driver_version";
        std::string_view value = rows.text(2);
        if (value.starts_with(kCuda))
            value.remove_prefix(kCuda.size());
        GD_TRY(versions.add(rows.int64(0), driver ? "driver" : "runtime", value,
            driver ? "driver_version" : "cuda_runtime_version"));
    }
}

Result<void> addEnvironment(FactContext& context, Versions& versions) {
    GD_TRY_ASSIGN(auto rows,
        context.db.prepare("SELECT process_id, value FROM env_var WHERE name = 'CUDA_VERSION' ORDER BY 1"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, rows.step());
        if (!row)
            return {};
        GD_TRY(versions.add(rows.int64(0), "container", rows.text(1), "CUDA_VERSION"));
    }
}

Result<void> addMarks(const RawData& raw, const ProcessData& process, Versions& versions) {
    for (const Range& range : process.ranges) {
        const std::string_view text = range.isMark ? raw.string(range.nameId) : std::string_view();
        const std::size_t runtime = text.find(kRuntime);
        if (!text.starts_with(kVersions) || runtime == std::string_view::npos)
            continue;
        GD_TRY(
            versions.add(process.processId, "built_for", text.substr(kVersions.size()), "mark 'versions'"));
        return versions.add(
            process.processId, "runtime", text.substr(runtime + kRuntime.size()), "mark 'versions'");
    }
    return {};
}

struct Said {
    std::int64_t count = 0;
    const Range* first = nullptr;
    std::int64_t lastNs = 0;
};

// Earliest first, whatever the order of threads.
void note(Said& said, const Range& range) {
    ++said.count;
    if (said.first == nullptr || range.startNs < said.first->startNs)
        said.first = &range;
    said.lastNs = std::max(said.lastNs, range.startNs);
}

} // namespace

std::optional<std::int64_t> cudaNumber(std::string_view text) {
    const auto start = std::find_if(text.begin(), text.end(), isDigit);
    text.remove_prefix(static_cast<std::size_t>(start - text.begin()));
    const auto major = takeNumber(text);
    if (!major || !text.starts_with('.'))
        return std::nullopt;
    text.remove_prefix(1);
    const auto minor = takeNumber(text);
    return minor ? std::optional(1000 * *major + 10 * *minor) : std::nullopt;
}

std::optional<GraphDecision> graphDecision(std::string_view mark) {
    if (!mark.starts_with(kGraph))
        return std::nullopt;
    const std::size_t arrow = mark.find(kArrow);
    if (arrow == std::string_view::npos)
        return std::nullopt;
    const std::size_t colon = mark.rfind(": ", arrow);
    if (colon == std::string_view::npos || colon <= kGraph.size())
        return std::nullopt;
    GraphDecision decision;
    decision.graph = mark.substr(kGraph.size(), colon - kGraph.size());
    decision.from = mark.substr(colon + 2, arrow - colon - 2);
    std::string_view rest = mark.substr(arrow + kArrow.size());
    decision.to = rest.substr(0, rest.find_first_of(" ,"));
    rest.remove_prefix(decision.to.size());
    if (rest.starts_with(" (")) {
        const std::size_t end = rest.rfind(')');
        decision.reason = end == std::string_view::npos ? "" : rest.substr(2, end - 2);
    }
    if (!isWord(decision.from) || !isWord(decision.to))
        return std::nullopt;
    return decision;
}

Result<void> buildGraphDecision(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO graph_decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        using Key = std::tuple<std::string, std::string, std::string, std::string>;
        std::map<Key, Said> decisions;
        std::map<std::string, std::int64_t> readyNs; // latest, by graph
        for (const Range& range : process.ranges) {
            const auto decision
                = range.isMark ? graphDecision(context.raw.string(range.nameId)) : std::nullopt;
            if (!decision)
                continue;
            note(decisions[{decision->graph, decision->from, decision->to, decision->reason}], range);
            if (decision->to == "ready")
                readyNs[decision->graph] = std::max(readyNs[decision->graph], range.startNs);
        }
        for (const auto& [key, said] : decisions) {
            const auto& [graph, from, to, reason] = key;
            const auto ready = readyNs.find(graph);
            GD_TRY(insert.runWith(process.processId, graph, from, to, orNull(reason), said.count,
                said.first->startNs, said.lastNs, process.stepNumberAt(said.first->startNs),
                orNull(std::int64_t{said.first->threadId}),
                ready != readyNs.end() && ready->second > said.lastNs));
        }
    }
    return {};
}

Result<void> buildStatedVersion(FactContext& context) {
    GD_TRY_ASSIGN(auto insert, context.db.prepare("INSERT INTO stated_version VALUES (?, ?, ?, ?, ?)"));
    Versions versions{std::move(insert)};
    GD_TRY(addFacts(context, versions));
    GD_TRY(addEnvironment(context, versions));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(addMarks(context.raw, process, versions));
    return {};
}

} // namespace gd::facts
