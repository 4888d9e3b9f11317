// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::report {

// Many values of one figure, told robustly: single outliers move none of these numbers.
struct Spread {
    std::int64_t count = 0; // values
    double median = 0;
    double low = 0; // a quarter of the values is smaller
    double high = 0; // a quarter is larger
    bool exact = false; // the only value there can be, as a rate over the whole trace: needs no others

    static Spread exactly(double value) { return {1, value, value, value, true}; }
    // How far the median itself may be off: half of a box plot's notch (McGill, Tukey and Larsen 1978), 0 for
    // an exact value or a single one.
    double uncertainty() const;
};
// Of at least one value; sorts them.
Spread spreadOf(std::vector<double>& values);

enum class Polarity : std::uint8_t { lessIsBetter, moreIsBetter, neutral };

// One figure of one trace. Without `spread` it is not known and `reason` says why.
struct Figure {
    std::string section; // "steps" "device" "gaps" "graphs" "kernels" "memory" "communication"
    std::string item; // graph, kernel, communicator; empty: the section has only one
    std::string metric; // "duration", "bytes a step", …
    std::string unit; // "ns" | "bytes" | "count"
    Polarity polarity = Polarity::lessIsBetter;
    std::optional<std::int64_t> rank; // nullopt: all ranks together
    std::optional<Spread> spread;
    std::string reason;
    std::int64_t signature = 0; // graphs: 0 = unknown
};

// `same`: the difference is smaller than what the threshold or the spread of the values lets one tell.
// `unknown`: one side was not measured, or there are too few values.
enum class Change : std::uint8_t { worse, better, different, same, onlyBase, onlyNew, unknown };
std::string_view name(Change change); // "worse" … "only_base" "only_new" "unknown"

// One line of a comparison.
struct Difference {
    std::string section, item, metric, unit;
    std::optional<std::int64_t> rank;
    std::optional<Spread> base, fresh;
    Change change = Change::unknown;
    std::string reason; // unknown: why; findings: where it is
    std::int64_t priority = 0; // findings: 3 error, 2 warning, 1 info
    std::int64_t baseCount = 0, newCount = 0; // findings: how many of them
    // Differences of the medians up to this, in the figure's unit, are `same`: the larger of the threshold
    // and of what the medians may be off together. nullopt: not compared.
    std::optional<double> noise;

    std::optional<double> absolute() const; // new - base, of the medians
    std::optional<double> relative() const; // of the base; nullopt when that is 0
};

// Steps that both traces have, of the lowest rank that both have; times of each side are ns of that trace.
struct StepPair {
    std::int64_t baseStep = 0, newStep = 0;
    std::int64_t baseStartNs = 0, baseEndNs = 0;
    std::int64_t newStartNs = 0, newEndNs = 0;
};
struct Alignment {
    std::string
        method; // "name": numbers in the names of the steps · "number": counted from the first · "none"
    std::string reason; // none: why
    std::optional<std::int64_t> rank;
    std::int64_t baseProcess = 0, newProcess = 0;
    std::vector<StepPair> pairs; // ascending
};

// Which clock told how long a step takes, the same on both sides.
struct StepClock {
    bool onDevice = true;
    std::string reason; // host: why, a sentence
};

struct CompareOptions {
    double thresholdPercent = 2; // smaller differences are `same`
    std::int64_t minimumSteps = 5; // fewer values a side: `unknown`
};

// What two traces say beside each other. `notes` are sentences: what differs in the set-up, what cannot be
// compared and why.
struct Comparison {
    Report base, fresh;
    CompareOptions options;
    Alignment alignment;
    StepClock stepClock;
    std::vector<std::string> notes;
    std::vector<Difference> differences; // by section in the order of Figure::section, findings last; inside
                                         // a section the largest absolute difference of its times first

    // The first difference of these; nullptr: none.
    const Difference* find(std::string_view section, std::string_view item, std::string_view metric,
        std::optional<std::int64_t> rank = std::nullopt) const;
};

} // namespace gd::report
