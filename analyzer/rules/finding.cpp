// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/finding.h"

#include <array>
#include <limits>
#include <span>
#include <tuple>

namespace gd::rules {
namespace {

constexpr std::array<std::string_view, 3> kSeverities{"info", "warning", "error"};
constexpr std::array<std::string_view, 5> kImpacts{"none", "slow", "wrong", "job_dies", "job_hangs"};
constexpr std::array<std::string_view, 3> kConfidences{"low", "medium", "high"};
constexpr std::array<std::string_view, 6> kRootKinds{
    "none", "capture", "exec", "comm", "step", "process_fault"};
constexpr std::array<std::string_view, 3> kOutcomes{"fired", "clean", "not_evaluated"};

template <class Enum>
std::optional<Enum> find(std::span<const std::string_view> words, std::string_view word) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == word)
            return static_cast<Enum>(i);
    }
    return std::nullopt;
}

// Larger = earlier in the report.
std::int64_t costRank(const Finding& finding) {
    return finding.costNs.value_or(std::numeric_limits<std::int64_t>::max());
}

} // namespace

std::string_view name(Severity value) {
    return kSeverities[static_cast<std::size_t>(value)];
}
std::string_view name(Impact value) {
    return kImpacts[static_cast<std::size_t>(value)];
}
std::string_view name(Confidence value) {
    return kConfidences[static_cast<std::size_t>(value)];
}
std::string_view name(RootKind value) {
    return kRootKinds[static_cast<std::size_t>(value)];
}
std::string_view name(Outcome value) {
    return kOutcomes[static_cast<std::size_t>(value)];
}

std::optional<Severity> severityFrom(std::string_view word) {
    return find<Severity>(kSeverities, word);
}
std::optional<Impact> impactFrom(std::string_view word) {
    return find<Impact>(kImpacts, word);
}
std::optional<Confidence> confidenceFrom(std::string_view word) {
    return find<Confidence>(kConfidences, word);
}
std::optional<RootKind> rootKindFrom(std::string_view word) {
    return find<RootKind>(kRootKinds, word);
}

bool comesBefore(const Finding& a, const Finding& b) {
    constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
    const std::int64_t aStart = a.startNs.value_or(kLast);
    const std::int64_t bStart = b.startNs.value_or(kLast);
    const std::int64_t aCost = costRank(a);
    const std::int64_t bCost = costRank(b);
    return std::tie(b.severity, b.impact, bCost, aStart, a.rule, a.processId, a.message)
        < std::tie(a.severity, a.impact, aCost, bStart, b.rule, b.processId, b.message);
}

} // namespace gd::rules
