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
    const double factor = 1 + *relative;
    return std::abs(factor) < 100 ? fmt::format("{:.3g} times", factor) : fmt::format("{:.0f} times", factor);
}

std::string deltaText(const Difference& difference) {
    const std::string relative = relativeText(difference);
    return relative.empty() ? absoluteText(difference)
                            : fmt::format("{} ({})", absoluteText(difference), relative);
}

std::string alignmentText(const Alignment& alignment) {
    if (alignment.method == "none")
        return fmt::format("not aligned: {}", alignment.reason);
    const std::size_t pairs = alignment.pairs.size();
    const bool byName = alignment.method == "name";
    if (alignment.rank)
        return byName
            ? fmt::format("{} of rank {} aligned by the numbers in their names", pairs, *alignment.rank)
            : fmt::format("{} of rank {} aligned by their numbers", pairs, *alignment.rank);
    return byName ? fmt::format("{} aligned by the numbers in their names", pairs)
                  : fmt::format("{} aligned by their numbers", pairs);
}

std::string stepClockText(const StepClock& clock) {
    if (clock.onDevice)
        return "on the device, from the end of a step's work to that of the next";
    return fmt::format("on the host, because {}; a host that runs ahead of its device has short steps until "
                       "the device's queue is full, so runs of other length may differ by that alone",
        clock.reason);
}

std::string noiseText(const Difference& difference) {
    const double noise = difference.noise.value_or(0);
    if (!difference.base || difference.base->median == 0)
        return fmt::format("differences up to {} are noise", valueOf(difference, noise));
    return fmt::format("differences up to {} ({:.1f} %) are noise", valueOf(difference, noise),
        noise / std::abs(difference.base->median) * 100);
}

std::string countsText(const Difference& finding) {
    return fmt::format("{} / {}", finding.baseCount, finding.newCount);
}

std::string findingText(const Difference& finding) {
    const std::int64_t count = finding.baseCount + finding.newCount;
    const std::string what
        = count > 1 ? fmt::format("{} ({} times)", finding.item, count) : std::string(finding.item);
    const auto& side = finding.fresh ? finding.fresh : finding.base;
    const std::string cost = side ? differenceValue(finding, *side) : std::string();
    if (cost.empty())
        return finding.reason.empty() ? what : fmt::format("{}, {}", what, finding.reason);
    return finding.reason.empty() ? fmt::format("{}: costs {}", what, cost)
                                  : fmt::format("{}: costs {}, {}", what, cost, finding.reason);
}

} // namespace gd::report
