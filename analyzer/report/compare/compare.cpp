// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/compare.h"

#include "analyzer/base/short_list.h"
#include "analyzer/report/compare/figures.h"
#include "analyzer/report/compare/match.h"
#include "analyzer/report/phrases.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace gd::report {
namespace {

std::set<std::int64_t> ranksOf(const Report& report) {
    std::set<std::int64_t> out;
    for (const ProcessInfo& process : report.processes) {
        if (process.rank)
            out.insert(*process.rank);
    }
    return out;
}

void noteRanks(const Report& base, const Report& fresh, std::vector<std::string>& notes) {
    const std::set<std::int64_t> before = ranksOf(base);
    const std::set<std::int64_t> after = ranksOf(fresh);
    if (before == after)
        return;
    if (before.size() != after.size())
        notes.push_back(
            fmt::format("the base has {}, the new trace {}: figures of the job are over all ranks of "
                        "each side, and only common ranks are compared one by one",
                plural(static_cast<std::int64_t>(before.size()), "rank"),
                plural(static_cast<std::int64_t>(after.size()), "rank")));
    for (const auto& [here, there, name] :
        {std::tuple(&before, &after, "the new trace"), std::tuple(&after, &before, "the base")}) {
        std::set<std::int64_t> missing;
        std::set_difference(
            here->begin(), here->end(), there->begin(), there->end(), std::inserter(missing, missing.end()));
        if (!missing.empty() && !there->empty())
            notes.push_back(fmt::format(
                "{} lacks rank{} {}", name, missing.size() == 1 ? "" : "s", base::shortList(missing)));
    }
}

void noteDifference(std::string_view what, const std::string& base, const std::string& fresh,
    std::vector<std::string>& notes) {
    if (base != fresh)
        notes.push_back(fmt::format("{}: {} in the base, {} in the new trace", what,
            base.empty() ? "not known" : base, fresh.empty() ? "not known" : fresh));
}

Result<std::string> deviceNames(Db& trace) {
    GD_TRY_ASSIGN(const auto names,
        trace.queryText(
            "SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device ORDER BY name)"));
    return names.value_or("");
}

// What makes the traces different jobs, so that the figures mean something else.
Result<std::vector<std::string>> setupNotes(CompareSide& base, CompareSide& fresh) {
    std::vector<std::string> notes;
    for (const auto& [side, name] : {std::pair(&base, "the base"), std::pair(&fresh, "the new trace")}) {
        if (!side->report.runtimeSeen || side->report.processes.empty())
            notes.push_back(fmt::format("{} is empty: its job never used a runtime that is followed", name));
        else if (side->report.steps.method.empty())
            notes.push_back(fmt::format(
                "nothing per step can be compared: {} has no steps ({})", name, side->report.steps.reason));
        const auto lost = std::count_if(side->report.issues.begin(), side->report.issues.end(),
            [](const Issue& issue) { return issue.severity != "info"; });
        if (lost > 0)
            notes.push_back(fmt::format("{} lacks data ({}): graphdoctor report {} lists what", name,
                plural(lost, "issue"), side->report.tracePath));
    }
    noteDifference("commands differ", base.report.commandLine, fresh.report.commandLine, notes);
    noteDifference("recording levels differ", base.report.level, fresh.report.level, notes);
    noteDifference("step methods differ", base.report.steps.method, fresh.report.steps.method, notes);
    GD_TRY_ASSIGN(const std::string before, deviceNames(base.trace));
    GD_TRY_ASSIGN(const std::string after, deviceNames(fresh.trace));
    noteDifference("devices differ", before, after, notes);
    noteRanks(base.report, fresh.report, notes);
    return notes;
}

// The device's clock where both sides have it.
StepClock stepClockOf(const StepTimes& base, const StepTimes& fresh) {
    for (const auto& [side, name] : {std::pair(&base, "the base"), std::pair(&fresh, "the new trace")}) {
        if (!side->whyNotDevice.empty())
            return {false, fmt::format("in {} {}", name, side->whyNotDevice)};
    }
    return {};
}

// A quantity of a difference in percent of the base; nullopt when that is 0.
std::optional<double> percentOfBase(const Difference& difference, const std::optional<double>& value) {
    return value && difference.base && difference.base->median != 0
        ? std::optional(*value / std::abs(difference.base->median) * 100)
        : std::nullopt;
}

// In percent of the base.
struct Regression {
    double more = 0, noise = 0;
};

// A figure that is worse by more than `percent`.
std::optional<Regression> regressionOf(const Difference* difference, double percent) {
    if (difference == nullptr || difference->change != Change::worse)
        return std::nullopt;
    const auto more = percentOfBase(*difference, difference->absolute());
    if (more.value_or(0) <= percent)
        return std::nullopt;
    return Regression{*more, percentOfBase(*difference, difference->noise).value_or(0)};
}

} // namespace

std::string_view name(Change change) {
    switch (change) {
    case Change::worse:
        return "worse";
    case Change::better:
        return "better";
    case Change::different:
        return "different";
    case Change::same:
        return "same";
    case Change::onlyBase:
        return "only_base";
    case Change::onlyNew:
        return "only_new";
    case Change::unknown:
        break;
    }
    return "unknown";
}

std::optional<double> Difference::absolute() const {
    return base && fresh ? std::optional(fresh->median - base->median) : std::nullopt;
}

std::optional<double> Difference::relative() const {
    return base && fresh && base->median != 0
        ? std::optional((fresh->median - base->median) / std::abs(base->median))
        : std::nullopt;
}

const Difference* Comparison::find(std::string_view section, std::string_view item, std::string_view metric,
    std::optional<std::int64_t> rank) const {
    const auto at = std::find_if(differences.begin(), differences.end(), [&](const Difference& d) {
        return d.section == section && d.item == item && d.metric == metric && d.rank == rank;
    });
    return at == differences.end() ? nullptr : &*at;
}

Result<Comparison> compare(CompareSide base, CompareSide fresh, const CompareOptions& options) {
    Comparison out;
    out.options = options;
    GD_TRY_ASSIGN(out.notes, setupNotes(base, fresh));
    GD_TRY_ASSIGN(const StepTimes baseSteps, readStepTimes(base.trace));
    GD_TRY_ASSIGN(const StepTimes newSteps, readStepTimes(fresh.trace));
    out.stepClock = stepClockOf(baseSteps, newSteps);
    const bool onDevice = out.stepClock.onDevice;
    GD_TRY_ASSIGN(auto before, readFigures(base.trace, onDevice ? baseSteps.device : baseSteps.host));
    GD_TRY_ASSIGN(auto after, readFigures(fresh.trace, onDevice ? newSteps.device : newSteps.host));
    out.differences = matchFigures(std::move(before), std::move(after), options);
    std::vector<Difference> findings = matchFindings(base.report, fresh.report, options);
    std::move(findings.begin(), findings.end(), std::back_inserter(out.differences));
    GD_TRY_ASSIGN(out.alignment, alignSteps(base.trace, fresh.trace));
    if (out.alignment.method == "none" && !base.report.steps.method.empty()
        && !fresh.report.steps.method.empty())
        out.notes.push_back(fmt::format("steps are not aligned: {}", out.alignment.reason));
    out.base = std::move(base.report);
    out.fresh = std::move(fresh.report);
    return out;
}

Verdict judgeRegression(const Comparison& comparison, double percent) {
    Verdict verdict;
    const Difference* steps = comparison.find("steps", "", "duration");
    if (steps == nullptr || steps->change == Change::unknown)
        verdict = {Verdict::What::inconclusive,
            {fmt::format("the time of a step cannot be compared: {}",
                steps == nullptr ? "neither trace has steps" : steps->reason)}};
    if (const auto time = regressionOf(steps, percent)) {
        verdict.why.push_back(
            fmt::format("a step takes {:.1f} % longer on the {}; up to {:.1f} % would be noise", time->more,
                comparison.stepClock.onDevice ? "device" : "host", time->noise));
        verdict.what = Verdict::What::regression;
    }
    if (const auto memory = regressionOf(comparison.find("memory", "", "peak of a step"), percent)) {
        verdict.why.push_back(
            fmt::format("the peak of memory is {:.1f} % higher; up to {:.1f} % would be noise", memory->more,
                memory->noise));
        verdict.what = Verdict::What::regression;
    }
    for (const Difference& difference : comparison.differences) {
        if (difference.section == "findings" && difference.change == Change::onlyNew
            && difference.priority == 3) {
            verdict.why.push_back(fmt::format("new error: {}", difference.item));
            verdict.what = Verdict::What::regression;
        }
    }
    return verdict;
}

} // namespace gd::report
