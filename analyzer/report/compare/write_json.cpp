// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/compare.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace gd::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T> Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json sideJson(const Report& report) {
    Json side;
    side["path"] = report.tracePath;
    side["command_line"] = report.commandLine.empty() ? Json(nullptr) : Json(report.commandLine);
    side["host"] = report.host.empty() ? Json(nullptr) : Json(report.host);
    side["level"] = report.level.empty() ? Json(nullptr) : Json(report.level);
    side["processes"] = report.processes.size();
    side["steps"] = report.steps.count;
    side["step_method"] = report.steps.method.empty() ? Json(nullptr) : Json(report.steps.method);
    return side;
}

Json spreadJson(const std::optional<Spread>& spread) {
    if (!spread)
        return nullptr;
    return Json{{"median", spread->median}, {"low", spread->low}, {"high", spread->high},
        {"count", spread->count}, {"exact", spread->exact}};
}

Json alignmentJson(const Alignment& alignment) {
    Json out;
    out["method"] = alignment.method;
    out["reason"] = alignment.reason.empty() ? Json(nullptr) : Json(alignment.reason);
    out["rank"] = orNull(alignment.rank);
    out["pairs"] = Json::array();
    for (const StepPair& pair : alignment.pairs)
        out["pairs"].push_back({{"base_step", pair.baseStep}, {"new_step", pair.newStep},
            {"base_start_ns", pair.baseStartNs}, {"base_end_ns", pair.baseEndNs},
            {"new_start_ns", pair.newStartNs}, {"new_end_ns", pair.newEndNs}});
    return out;
}

Json differenceJson(const Difference& difference) {
    Json out;
    out["section"] = difference.section;
    out["item"] = difference.item.empty() ? Json(nullptr) : Json(difference.item);
    out["metric"] = difference.metric;
    out["unit"] = difference.unit;
    out["rank"] = orNull(difference.rank);
    out["base"] = spreadJson(difference.base);
    out["new"] = spreadJson(difference.fresh);
    out["absolute"] = orNull(difference.absolute());
    out["relative"] = orNull(difference.relative());
    out["noise"] = orNull(difference.noise);
    out["change"] = name(difference.change);
    if (difference.section == "findings") {
        out["base_count"] = difference.baseCount;
        out["new_count"] = difference.newCount;
    }
    out["reason"] = difference.reason.empty() ? Json(nullptr) : Json(difference.reason);
    return out;
}

} // namespace

std::string writeCompareJson(const Comparison& comparison) {
    Json out;
    out["schema"] = "graphdoctor.compare/1";
    out["base"] = sideJson(comparison.base);
    out["new"] = sideJson(comparison.fresh);
    out["threshold_percent"] = comparison.options.thresholdPercent;
    out["minimum_steps"] = comparison.options.minimumSteps;
    out["step_clock"] = Json{{"clock", comparison.stepClock.onDevice ? "device" : "host"},
        {"reason", comparison.stepClock.reason.empty() ? Json(nullptr) : Json(comparison.stepClock.reason)}};
    out["alignment"] = alignmentJson(comparison.alignment);
    out["notes"] = comparison.notes;
    out["differences"] = Json::array();
    for (const Difference& difference : comparison.differences)
        out["differences"].push_back(differenceJson(difference));
    // As in the report's JSON: ASCII only, bytes that are not UTF-8 become U+FFFD.
    return out.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

} // namespace gd::report
