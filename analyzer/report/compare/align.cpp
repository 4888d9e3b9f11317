// SPDX-License-Identifier: Apache-2.0
// Which step of one trace belongs to which of another.
#include "analyzer/base/statement.h"
#include "analyzer/report/compare/compare.h"

#include <charconv>
#include <map>

namespace gd::report {
namespace {

struct StepRow {
    std::int64_t step = 0, startNs = 0, endNs = 0;
    std::optional<std::int64_t> named; // the number that ends its name
};

struct StepList {
    std::int64_t process = 0;
    std::vector<StepRow> steps;
    bool allNamed() const {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!steps[i].named || (i > 0 && *steps[i].named <= *steps[i - 1].named))
                return false;
        }
        return !steps.empty();
    }
};

// "ProfilerStep#12" and "step 12" give 12.
std::optional<std::int64_t> numberAtEnd(std::string_view name) {
    std::size_t first = name.size();
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        --first;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data() + first, name.data() + name.size(), value);
    if (first == name.size() || error != std::errc())
        return std::nullopt;
    return value;
}

// Steps by rank, of the first process of each; -1: the first process without a rank.
Result<std::map<std::int64_t, StepList>> readSteps(Db& trace) {
    std::map<std::int64_t, StepList> out;
    GD_TRY_ASSIGN(auto rows,
        trace.prepareReadOnly(
            "SELECT coalesce(p.rank, -1), s.process_id, s.step, s.start_ns, s.end_ns, s.name "
            "FROM step AS s JOIN process AS p USING (process_id) "
            "ORDER BY s.process_id, s.step"));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return out;
        StepList& list = out[rows.int64(0)];
        if (list.steps.empty())
            list.process = rows.int64(1);
        if (list.process == rows.int64(1))
            list.steps.push_back({rows.int64(2), rows.int64(3), rows.int64(4), numberAtEnd(rows.text(5))});
    }
}

std::int64_t keyOf(const StepRow& row, bool byName) {
    return byName ? *row.named : row.step;
}

} // namespace

Result<Alignment> alignSteps(Db& base, Db& fresh) {
    Alignment out;
    out.method = "none";
    GD_TRY_ASSIGN(const auto baseSteps, readSteps(base));
    GD_TRY_ASSIGN(const auto newSteps, readSteps(fresh));
    if (baseSteps.empty() || newSteps.empty()) {
        out.reason = fmt::format("no steps were found in {}",
            !newSteps.empty()       ? "the base"
                : baseSteps.empty() ? "either trace"
                                    : "the new trace");
        return out;
    }
    // The lowest rank of both; jobs of one process each need none.
    auto first = baseSteps.begin();
    while (first != baseSteps.end() && !newSteps.contains(first->first))
        ++first;
    const bool single = baseSteps.size() == 1 && newSteps.size() == 1;
    if (first == baseSteps.end() && !single) {
        out.reason = "the traces have no rank with steps in common";
        return out;
    }
    const auto& [rank, before] = first == baseSteps.end() ? *baseSteps.begin() : *first;
    const StepList& after = first == baseSteps.end() ? newSteps.begin()->second : newSteps.at(rank);
    out.rank = rank < 0 ? std::nullopt : std::optional(rank);
    out.baseProcess = before.process;
    out.newProcess = after.process;
    const bool byName = before.allNamed() && after.allNamed();
    for (auto a = before.steps.begin(), b = after.steps.begin();
         a != before.steps.end() && b != after.steps.end();) {
        const std::int64_t left = keyOf(*a, byName);
        const std::int64_t right = keyOf(*b, byName);
        if (left == right)
            out.pairs.push_back({a->step, b->step, a->startNs, a->endNs, b->startNs, b->endNs});
        a += left <= right ? 1 : 0;
        b += right <= left ? 1 : 0;
    }
    if (out.pairs.empty())
        out.reason = byName ? "the names of the steps carry numbers, and none is in both traces"
                            : "no number of a step is in both traces";
    else
        out.method = byName ? "name" : "number";
    return out;
}

} // namespace gd::report
