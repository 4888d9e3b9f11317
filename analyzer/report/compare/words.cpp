// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/words.h"

#include "analyzer/report/phrases.h"

#include <array>
#include <cmath>

namespace gd::report {
namespace {

constexpr std::array<std::string_view, 8> kSections{
    "steps", "device", "gaps", "graphs", "kernels", "memory", "communication", "findings"};
constexpr std::array<std::string_view, 8> kTitles{
    "Steps", "Device, per step", "Replay gaps", "Graphs", "Kernels", "Memory", "Communication", "Findings"};

std::string valueOf(const Difference& difference, double value) {
    if (difference.unit == "count")
        return fmt::format("{:.4g}", value);
    return valueText(rules::Value(value), difference.unit);
}

} // namespace

std::span<const std::string_view> comparedSections() {
    return kSections;
}

std::string sectionText(std::string_view section) {
    for (std::size_t i = 0; i < kSections.size(); ++i) {
        if (kSections[i] == section)
            return std::string(kTitles[i]);
    }
    return std::string(section);
}

std::string changeText(Change change) {
    switch (change) {
    case Change::onlyBase:
        return "only in the base";
    case Change::onlyNew:
        return "only in the new trace";
    case Change::unknown:
        return "not compared";
    default:
        return std::string(name(change));
    }
}

std::string differenceValue(const Difference& difference, const Spread& side) {
    return valueOf(difference, side.median);
}

std::string absoluteText(const Difference& difference) {
    const auto absolute = difference.absolute();
    if (!absolute)
        return {};
    if (*absolute == 0)
        return "0";
    return fmt::format("{}{}", *absolute < 0 ? "-" : "+", valueOf(difference, std::abs(*absolute)));
}

std::string relativeText(const Difference& difference) {
    const auto relative = difference.relative();
    if (!relative || *relative == 0)
        return {};
    if (std::abs(*relative) < 10)
        return fmt::format("{:+.1f} %", *relative * 100);
    return fmt::format("{:.3g} times", 1 + *relative);
}

std::string deltaText(const Difference& difference) {
    const std::string relative = relativeText(difference);
    return relative.empty() ? absoluteText(difference)
                            : fmt::format("{} ({})", absoluteText(difference), relative);
}

std::string alignmentText(const Alignment& alignment) {
    if (alignment.method == "none")
        return fmt::format("not aligned: {}", alignment.reason);
    std::string out = fmt::format("{} aligned by {}", alignment.pairs.size(),
        alignment.method == "name" ? "the numbers in their names" : "their numbers");
    if (alignment.rank)
        out += fmt::format(", of rank {}", *alignment.rank);
    return out;
}

std::string countsText(const Difference& finding) {
    return fmt::format("{} / {}", finding.baseCount, finding.newCount);
}

std::string findingText(const Difference& finding) {
    std::string out = finding.item;
    if (const std::int64_t count = finding.baseCount + finding.newCount; count > 1)
        out += fmt::format(" ({} times)", count);
    const auto& side = finding.fresh ? finding.fresh : finding.base;
    if (side)
        out += fmt::format(": costs {}", differenceValue(finding, *side));
    if (!finding.reason.empty())
        out += fmt::format(", {}", finding.reason);
    return out;
}

} // namespace gd::report
