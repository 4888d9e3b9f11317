// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/folding.h"

#include "analyzer/base/text.h"
#include "analyzer/rules/text_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace gd::rules {
namespace {

constexpr std::size_t kNoLine = std::numeric_limits<std::size_t>::max();

bool isTrue(const Finding& finding, const std::string& column) {
    for (const auto& [name, value] : finding.columns) {
        if (name != column)
            continue;
        if (const auto* integer = std::get_if<std::int64_t>(&value))
            return *integer != 0;
        const auto* real = std::get_if<double>(&value);
        return real != nullptr && *real != 0;
    }
    return false;
}

std::string strip(std::string_view line) {
    return std::string(base::trim(line.substr(0, line.find('#'))));
}

template <class T> void addOnce(std::vector<T>& list, const T& value) {
    const auto at = std::lower_bound(list.begin(), list.end(), value);
    if (at == list.end() || *at != value)
        list.insert(at, value);
}

using MergeKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

MergeKey mergeKeyOf(const Finding& finding) {
    const std::string function = finding.locations.empty() ? "" : finding.locations[0].function;
    const bool identified = !function.empty() || !finding.graphSignature.empty();
    return {
        finding.rule, function, finding.graphSignature, finding.mergeKey, identified ? "" : finding.message};
}

void mergeInto(Finding& head, Finding&& other) {
    for (const base::RankId rank : other.ranks)
        addOnce(head.ranks, rank);
    for (const base::ProcessId process : other.processes)
        addOnce(head.processes, process);
    if (other.costNs && (!head.costNs || *other.costNs > *head.costNs))
        head.costNs = other.costNs;
    if (other.costBytes && (!head.costBytes || *other.costBytes > *head.costBytes))
        head.costBytes = other.costBytes;
    for (Finding& folded : other.folded) {
        const auto same = std::find_if(head.folded.begin(), head.folded.end(),
            [&](const Finding& mine) { return mergeKeyOf(mine) == mergeKeyOf(folded); });
        if (same == head.folded.end()) {
            head.folded.push_back(std::move(folded));
            continue;
        }
        for (const base::RankId rank : folded.ranks)
            addOnce(same->ranks, rank);
        for (const base::ProcessId process : folded.processes)
            addOnce(same->processes, process);
    }
}

} // namespace

Result<Precedence> Precedence::parse(std::string_view text, const std::string& path) {
    Precedence result;
    std::optional<RootKind> kind;
    int lineNumber = 0;
    for (const std::string_view raw : base::split(text, '\n')) {
        ++lineNumber;
        const std::string line = strip(raw);
        if (line.empty())
            continue;
        if (line.starts_with('[')) {
            kind = line.ends_with(']') ? rootKindFrom(line.substr(1, line.size() - 2)) : std::nullopt;
            if (!kind || *kind == RootKind::none)
                return fail(ErrorCode::badInput,
                    "{}:{}: expected [capture], [exec], [comm], [step] or [process_fault], found \"{}\"",
                    path, lineNumber, line);
            continue;
        }
        if (!kind)
            return fail(ErrorCode::badInput, "{}:{}: expected a group such as [capture] first, found \"{}\"",
                path, lineNumber, line);
        std::vector<std::string_view> words = base::split(line, ' ');
        std::erase(words, std::string_view());
        const bool conditional = words.size() == 3 && words[1] == "if";
        if (words.size() != 1 && !conditional)
            return fail(ErrorCode::badInput, R"({}:{}: expected "ID" or "ID if COLUMN", found "{}")", path,
                lineNumber, line);
        Entry entry{std::string(words[0]), conditional ? std::string(words[2]) : std::string()};
        std::vector<Entry>& list = result.m_lists[static_cast<std::size_t>(*kind)];
        const bool twice = std::any_of(list.begin(), list.end(), [&](const Entry& other) {
            return other.rule == entry.rule
                && (other.condition.empty() || other.condition == entry.condition);
        });
        if (twice)
            return fail(ErrorCode::badInput, "{}:{}: {} can never be reached here, an earlier line covers it",
                path, lineNumber, entry.rule);
        list.push_back(std::move(entry));
    }
    return result;
}

Result<Precedence> Precedence::load(const std::string& path) {
    GD_TRY_ASSIGN(const std::string text, readTextFile(path, "list of precedence"));
    return parse(text, path);
}

void Precedence::append(const Precedence& later) {
    for (std::size_t i = 0; i < m_lists.size(); ++i)
        m_lists[i].insert(m_lists[i].end(), later.m_lists[i].begin(), later.m_lists[i].end());
}

std::size_t Precedence::lineOf(RootKind kind, const std::string& rule, const Finding& finding) const {
    const std::vector<Entry>& list = m_lists[static_cast<std::size_t>(kind)];
    const auto found = std::find_if(list.begin(), list.end(), [&](const Entry& entry) {
        return entry.rule == rule && (entry.condition.empty() || isTrue(finding, entry.condition));
    });
    return found == list.end() ? kNoLine : static_cast<std::size_t>(found - list.begin());
}

std::size_t Precedence::place(const Finding& finding) const {
    // Two places a line: the odd one is for the rule, the even one before it for its children without a line.
    if (const std::size_t own = lineOf(finding.rootKind, finding.rule, finding); own != kNoLine)
        return 2 * own + 1;
    if (finding.parent.empty())
        return kNoLine;
    const std::size_t parent = lineOf(finding.rootKind, finding.parent, finding);
    // A child of a rule without a line comes before all others without one.
    return parent == kNoLine ? kNoLine - 1 : 2 * parent;
}

std::vector<std::string> Precedence::ids(RootKind kind) const {
    std::vector<std::string> result;
    for (const Entry& entry : m_lists[static_cast<std::size_t>(kind)])
        result.push_back(entry.rule);
    return result;
}

std::vector<Finding> foldByRoot(std::vector<Finding> findings, const Precedence& precedence) {
    using Root = std::tuple<base::ProcessId, RootKind, std::int64_t>;
    std::map<Root, std::vector<Finding>> groups;
    std::vector<Finding> heads;
    for (Finding& finding : findings) {
        if (finding.rootKind == RootKind::none || !finding.rootId)
            heads.push_back(std::move(finding));
        else
            groups[{finding.processId, finding.rootKind, *finding.rootId}].push_back(std::move(finding));
    }
    for (auto& [root, group] : groups) {
        std::stable_sort(group.begin(), group.end(), [&](const Finding& a, const Finding& b) {
            const std::size_t placeA = precedence.place(a);
            const std::size_t placeB = precedence.place(b);
            return placeA != placeB ? placeA < placeB : comesBefore(a, b);
        });
        Finding head = std::move(group.front());
        head.folded.insert(head.folded.end(), std::make_move_iterator(group.begin() + 1),
            std::make_move_iterator(group.end()));
        heads.push_back(std::move(head));
    }
    return heads;
}

std::vector<Finding> mergeRanks(std::vector<Finding> findings) {
    std::stable_sort(findings.begin(), findings.end(), comesBefore);
    std::map<std::pair<MergeKey, base::ProcessId>, std::size_t> seen;
    std::map<std::pair<MergeKey, std::size_t>, std::size_t> heads; // → index in result
    std::vector<Finding> result;
    for (Finding& finding : findings) {
        if (finding.rank.isNone()) {
            result.push_back(std::move(finding));
            continue;
        }
        const MergeKey key = mergeKeyOf(finding);
        const std::size_t ordinal = seen[{key, finding.processId}]++;
        const auto [head, isNew] = heads.try_emplace({key, ordinal}, result.size());
        if (isNew)
            result.push_back(std::move(finding));
        else
            mergeInto(result[head->second], std::move(finding));
    }
    return result;
}

std::vector<Finding> foldMergeAndSort(std::vector<Finding> findings, const Precedence& precedence) {
    std::vector<Finding> result = mergeRanks(foldByRoot(std::move(findings), precedence));
    std::stable_sort(result.begin(), result.end(), comesBefore);
    return result;
}

} // namespace gd::rules
