// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/needs.h"

#include <algorithm>
#include <array>
#include <vector>

namespace gd::rules {
namespace {

CoverageState stateFrom(std::string_view word) {
    if (word == "complete")
        return CoverageState::complete;
    return word == "partial" ? CoverageState::partial : CoverageState::absent;
}

} // namespace

Result<CoverageSummary> CoverageSummary::load(Db& db) {
    CoverageSummary result;
    GD_TRY_ASSIGN(Statement rows,
        db.prepare("SELECT process_id, source, state, reason, to_ns - from_ns FROM coverage"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, rows.step());
        if (!row)
            break;
        Sources& sources = result.m_processes[rows.int64(0)];
        const auto [entry, isNew] = sources.try_emplace(std::string(rows.text(1)));
        const CoverageState state = stateFrom(rows.text(2));
        State& known = entry->second;
        if (isNew || state > known.best) {
            known.best = state;
            known.reason = rows.text(3);
        }
        const std::int64_t ns = rows.int64(4);
        known.totalNs += ns;
        known.partialNs += state >= CoverageState::partial ? ns : 0;
        known.completeNs += state >= CoverageState::complete ? ns : 0;
        if (state == CoverageState::absent && ns > known.gapNs) {
            known.gapNs = ns;
            known.gap = rows.text(3);
        }
    }
    std::erase_if(result.m_processes, [](const auto& process) {
        // That no framework hides anything says nothing about the process.
        return std::all_of(process.second.begin(), process.second.end(), [](const auto& source) {
            return source.second.best == CoverageState::absent || source.first == "framework_allocator";
        });
    });
    return result;
}

CoverageSummary::State CoverageSummary::stateOf(const Sources& sources, std::string_view source) const {
    constexpr std::array<std::string_view, 3> kCommunication{"comm_ops", "nccl_plugin", "nccl_nvtx"};
    const bool any = source == "comm_ops";
    const std::span<const std::string_view> wanted = any ? std::span<const std::string_view>(kCommunication)
                                                         : std::span<const std::string_view>(&source, 1);
    State best;
    best.reason = "it was not recorded";
    for (const std::string_view name : wanted) {
        const auto found = sources.find(name);
        if (found == sources.end())
            continue;
        const bool explains = found->second.best == best.best && !found->second.reason.empty();
        if (found->second.best > best.best || explains)
            best = found->second;
    }
    return best;
}

std::string CoverageSummary::lacking(const Sources& sources, const CoverageNeed& need) const {
    std::string text;
    for (const std::string& source : need.sources) {
        const State state = stateOf(sources, source);
        if (state.best >= need.atLeast)
            return {};
        if (!text.empty())
            text += ", and ";
        text += fmt::format("needs {} {}, which is {}", source, name(need.atLeast), name(state.best));
        if (!state.reason.empty())
            text += fmt::format(" ({})", state.reason);
    }
    return text;
}

void CoverageSummary::noteShare(const Sources& sources, const CoverageNeed& need, Verdict& verdict) const {
    double best = 0;
    std::string gap;
    for (const std::string& source : need.sources) {
        const State state = stateOf(sources, source);
        if (state.best < need.atLeast)
            continue;
        const std::int64_t ns = need.atLeast == CoverageState::complete ? state.completeNs : state.partialNs;
        const double share
            = state.totalNs <= 0 ? 1 : static_cast<double>(ns) / static_cast<double>(state.totalNs);
        if (share > best) {
            best = share;
            gap = state.gap;
        }
    }
    if (best < verdict.share) {
        verdict.share = best;
        verdict.gap = gap;
    }
}

CoverageSummary::Verdict CoverageSummary::judge(std::span<const CoverageNeed> needs) const {
    Verdict verdict;
    for (const auto& [processId, sources] : m_processes) {
        const auto lack = std::find_if(needs.begin(), needs.end(),
            [&, &known = sources](const CoverageNeed& need) { return !lacking(known, need).empty(); });
        if (lack == needs.end()) {
            ++verdict.seeing;
            for (const CoverageNeed& need : needs)
                noteShare(sources, need, verdict);
            continue;
        }
        if (verdict.blind.empty())
            verdict.reason = lacking(sources, *lack);
        verdict.blind.insert(processId);
    }
    if (m_processes.empty() && !needs.empty())
        verdict.reason = "no process recorded anything";
    return verdict;
}

} // namespace gd::rules
