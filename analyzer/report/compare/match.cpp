// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/match.h"

#include "analyzer/report/compare/words.h"
#include "analyzer/report/phrases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace gd::report {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::int64_t>; // section, item, metric, rank

std::size_t placeOf(std::string_view section) {
    const auto sections = comparedSections();
    return static_cast<std::size_t>(std::find(sections.begin(), sections.end(), section) - sections.begin());
}

Key keyOf(const Figure& figure) {
    return {figure.section, figure.item, figure.metric, figure.rank.value_or(-1)};
}

using Graphs = std::map<std::string, std::int64_t>; // name -> signature

Graphs graphsOf(const std::vector<Figure>& figures) {
    Graphs out;
    for (const Figure& figure : figures) {
        if (figure.section == "graphs")
            out.emplace(figure.item, figure.signature);
    }
    return out;
}

// Names of the new trace's graphs that are known under another name in the base.
std::map<std::string, std::string> otherNames(const Graphs& base, const Graphs& fresh) {
    std::map<std::int64_t, std::string> bySignature; // of the base; empty: several
    std::map<std::int64_t, int> count; // in the new trace
    for (const auto& [name, signature] : base) {
        const auto [at, isNew] = bySignature.emplace(signature, name);
        if (!isNew)
            at->second.clear();
    }
    for (const auto& [name, signature] : fresh)
        ++count[signature];
    std::map<std::string, std::string> out;
    for (const auto& [name, signature] : fresh) {
        const auto at = bySignature.find(signature);
        const auto same = base.find(name);
        const bool isTaken = same != base.end() && same->second == signature;
        if (signature == 0 || isTaken || at == bySignature.end() || at->second.empty()
            || count[signature] > 1)
            continue;
        // The name must not belong to another graph of the new trace.
        if (!fresh.contains(at->second))
            out[name] = at->second;
    }
    return out;
}

double weight(const Difference& difference) {
    return std::abs(difference.absolute().value_or(difference.fresh ? difference.fresh->median
            : difference.base                                       ? difference.base->median
                                                                    : 0));
}

// Lines of one item stay together; items with the largest difference in time come first.
void sortDifferences(std::vector<Difference>& list) {
    std::map<std::pair<std::string, std::string>, double> heaviest;
    for (const Difference& difference : list) {
        double& heavy = heaviest[{difference.section, difference.item}];
        // A kernel's duration counts as often as it ran.
        const bool isKernel = difference.section == "kernels" && difference.metric == "duration";
        const auto times = [](const std::optional<Spread>& side) { return side ? side->count : 0; };
        const auto runs
            = static_cast<double>(isKernel ? std::max(times(difference.base), times(difference.fresh)) : 1);
        if (difference.unit != "count")
            heavy = std::max(heavy, weight(difference) * runs);
    }
    std::stable_sort(list.begin(), list.end(), [&](const Difference& a, const Difference& b) {
        const auto key = [&](const Difference& d) {
            return std::tuple(placeOf(d.section), -heaviest[{d.section, d.item}], std::cref(d.item).get());
        };
        return key(a) < key(b);
    });
}

std::string functionOf(const rules::Finding& finding) {
    return finding.locations.empty() ? std::string() : finding.locations[0].function;
}

using FindingKey = std::tuple<std::string, std::string, std::string>; // rule, function, graph signature

FindingKey keyOf(const rules::Finding& finding) {
    return {finding.rule, functionOf(finding), finding.graphSignature};
}

// The findings of one key in one trace.
struct FindingSide {
    const rules::Finding* gravest = nullptr; // the first of them
    std::int64_t count = 0;
    std::optional<std::int64_t> costNs; // of those whose cost is known

    void add(const rules::Finding& finding) {
        if (gravest == nullptr || finding.severity > gravest->severity)
            gravest = &finding;
        ++count;
        if (finding.costNs)
            costNs = costNs.value_or(0) + *finding.costNs;
    }
    std::optional<Spread> cost() const {
        return costNs ? std::optional(Spread::exactly(static_cast<double>(*costNs))) : std::nullopt;
    }
};

struct FindingPair {
    FindingSide base, fresh;
};

Difference lineOf(const FindingPair& pair, const CompareOptions& options) {
    const rules::Finding& finding = pair.fresh.gravest != nullptr ? *pair.fresh.gravest : *pair.base.gravest;
    Difference out;
    out.section = "findings";
    out.item = fmt::format("{} {}", finding.rule, finding.title);
    out.metric = "cost";
    out.unit = "ns";
    out.base = pair.base.cost();
    out.fresh = pair.fresh.cost();
    out.baseCount = pair.base.count;
    out.newCount = pair.fresh.count;
    out.priority = static_cast<std::int64_t>(finding.severity) + 1;
    // A longer run pays more and meets the same pitfall more often: neither is worse.
    judgeDifference(out, Polarity::neutral, options);
    if (pair.base.count == 0)
        out.change = Change::onlyNew;
    else if (pair.fresh.count == 0)
        out.change = Change::onlyBase;
    else if (out.baseCount != out.newCount)
        out.change = Change::different;
    else if (out.change == Change::unknown)
        out.change = Change::same; // it is in both; what it costs is not known
    out.reason = finding.locations.empty() ? whereText(finding) : placeText(finding.locations[0]);
    return out;
}

} // namespace

void judgeDifference(Difference& difference, Polarity polarity, const CompareOptions& options) {
    const auto& [base, fresh] = std::tie(difference.base, difference.fresh);
    if (!base || !fresh) {
        difference.change = Change::unknown;
        return;
    }
    const double delta = fresh->median - base->median;
    // The median of a few values says nothing.
    for (const auto& [side, where] : {std::pair(&*base, "the base"), std::pair(&*fresh, "the new trace")}) {
        if (side->exact || side->count >= options.minimumSteps)
            continue;
        difference.change = Change::unknown;
        difference.reason = fmt::format(
            "only {} in {}, {} are needed", plural(side->count, "value"), where, options.minimumSteps);
        return;
    }
    const double threshold = std::abs(base->median) * options.thresholdPercent / 100;
    difference.noise = std::max(threshold, base->uncertainty() + fresh->uncertainty());
    if (std::abs(delta) <= *difference.noise)
        difference.change = Change::same;
    else if (polarity == Polarity::neutral)
        difference.change = Change::different;
    else
        difference.change
            = (delta > 0) == (polarity == Polarity::lessIsBetter) ? Change::worse : Change::better;
}

std::vector<Difference> matchFigures(
    std::vector<Figure> base, std::vector<Figure> fresh, const CompareOptions& options) {
    const auto renamed = otherNames(graphsOf(base), graphsOf(fresh));
    for (Figure& figure : fresh) {
        const auto at = figure.section == "graphs" ? renamed.find(figure.item) : renamed.end();
        if (at != renamed.end())
            figure.item = at->second;
    }
    std::map<Key, const Figure*> others;
    std::set<std::pair<std::string, std::string>> baseItems, newItems;
    std::set<std::int64_t> baseRanks, newRanks;
    for (const Figure& figure : base) {
        baseItems.emplace(figure.section, figure.item);
        baseRanks.insert(figure.rank.value_or(-1));
    }
    for (const Figure& figure : fresh) {
        others.emplace(keyOf(figure), &figure);
        newItems.emplace(figure.section, figure.item);
        newRanks.insert(figure.rank.value_or(-1));
    }
    std::vector<Difference> out;
    const auto add = [&](const Figure* left, const Figure* right) {
        const Figure& any = left != nullptr ? *left : *right;
        Difference line{any.section, any.item, any.metric, any.unit, any.rank, {}, {}, Change::unknown, {}, 0,
            0, 0, std::nullopt};
        if (left != nullptr)
            line.base = left->spread;
        if (right != nullptr)
            line.fresh = right->spread;
        for (const auto& [figure, side] : {std::pair(left, "the base"), std::pair(right, "the new trace")}) {
            if (figure != nullptr && !figure->spread && line.reason.empty())
                line.reason = fmt::format("{}: {}", side, figure->reason);
        }
        judgeDifference(line, any.polarity, options);
        const std::pair<std::string, std::string> item{any.section, any.item};
        if (left == nullptr && line.fresh && !baseItems.contains(item))
            line.change = Change::onlyNew;
        if (right == nullptr && line.base && !newItems.contains(item))
            line.change = Change::onlyBase;
        if (line.change == Change::unknown && line.reason.empty())
            line.reason = fmt::format("not measured in {}", left == nullptr ? "the base" : "the new trace");
        out.push_back(std::move(line));
    };
    for (const Figure& figure : base) {
        const auto at = others.find(keyOf(figure));
        const Figure* other = at == others.end() ? nullptr : at->second;
        // A rank that only one side has is told by a note, not by a line a figure.
        if (other != nullptr || !figure.rank || newRanks.contains(*figure.rank))
            add(&figure, other);
        if (other != nullptr)
            others.erase(at);
    }
    for (const Figure& figure : fresh) {
        if (others.contains(keyOf(figure)) && (!figure.rank || baseRanks.contains(*figure.rank)))
            add(nullptr, &figure);
    }
    sortDifferences(out);
    return out;
}

std::vector<Difference> matchFindings(
    const Report& base, const Report& fresh, const CompareOptions& options) {
    std::map<FindingKey, FindingPair> pairs;
    for (const rules::Finding& finding : base.findings)
        pairs[keyOf(finding)].base.add(finding);
    for (const rules::Finding& finding : fresh.findings)
        pairs[keyOf(finding)].fresh.add(finding);
    std::vector<Difference> out;
    for (const auto& [key, pair] : pairs)
        out.push_back(lineOf(pair, options));
    // New ones first, then those that are gone, each the gravest first.
    std::stable_sort(out.begin(), out.end(), [](const Difference& a, const Difference& b) {
        const auto key = [](const Difference& d) {
            return std::tuple(d.change == Change::onlyNew ? 0
                    : d.change == Change::onlyBase        ? 2
                                                          : 1,
                -d.priority, -weight(d));
        };
        return key(a) < key(b);
    });
    return out;
}

} // namespace gd::report
