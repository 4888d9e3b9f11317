// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/step_ranges.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <unordered_map>

namespace gd::facts {
namespace {

// "step 12" and "step 13" are one kind of range.
std::string withoutNumbers(std::string_view name) {
    std::string result;
    for (const char c : name) {
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
            result += c;
        else if (result.empty() || result.back() != '#')
            result += '#';
    }
    return result;
}

std::unordered_map<std::int32_t, std::size_t> launchesByThread(const ProcessData& process) {
    std::unordered_map<std::int32_t, std::size_t> count;
    for (const ApiCall& call : process.calls) {
        if (call.apiClass == ApiClass::launch || call.apiClass == ApiClass::copy)
            ++count[call.threadId];
    }
    for (const Replay& replay : process.replays)
        ++count[replay.threadId];
    return count;
}

struct Group {
    std::vector<const Range*> ranges; // by start, none inside another
    std::int64_t coveredNs = 0;
};

} // namespace

const std::regex& knownStepNames() {
    static const std::regex pattern(
        R"(^(step|iteration|train[_ ]?step|Iteration|ProfilerStep#\d+|graphdoctor\.step)\b)");
    return pattern;
}

std::vector<Step> stepsFromRanges(const RawData& raw, const ProcessData& process, const std::regex& pattern,
    bool oneGroupPerThread, std::size_t atLeast) {
    std::unordered_map<std::int64_t, std::pair<bool, std::string>> names; // matches, group
    std::map<std::pair<std::int32_t, std::string>, Group> groups;
    for (const Range& range : process.ranges) {
        if (range.isMark || !range.closed)
            continue;
        const auto [entry, isNew] = names.try_emplace(range.nameId);
        if (isNew) {
            // The library's matcher recurses once a character.
            const std::string name(raw.string(range.nameId).substr(0, 1024));
            entry->second = {std::regex_search(name, pattern), oneGroupPerThread ? "" : withoutNumbers(name)};
        }
        if (!entry->second.first)
            continue;
        Group& group = groups[{range.threadId, entry->second.second}];
        if (!group.ranges.empty() && range.startNs < group.ranges.back()->endNs)
            continue;
        group.ranges.push_back(&range);
        group.coveredNs += range.endNs - range.startNs;
    }
    const auto launches = launchesByThread(process);
    const auto weight = [&](const auto& entry) {
        const auto found = launches.find(entry.first.first);
        return std::tuple(found == launches.end() ? 0 : found->second, entry.second.coveredNs);
    };
    const std::pair<const std::pair<std::int32_t, std::string>, Group>* best = nullptr;
    for (const auto& entry : groups) {
        if (entry.second.ranges.size() >= atLeast && (best == nullptr || weight(entry) > weight(*best)))
            best = &entry;
    }
    std::vector<Step> steps;
    if (best == nullptr)
        return steps;
    for (const Range* range : best->second.ranges) {
        Step& step = steps.emplace_back();
        step.step = static_cast<std::int64_t>(steps.size() - 1);
        step.startNs = range->startNs;
        step.endNs = range->endNs;
        step.threadId = range->threadId;
        step.name = raw.string(range->nameId);
    }
    return steps;
}

} // namespace gd::facts
