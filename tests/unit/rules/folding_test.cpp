// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace gd::rules {
namespace {

using base::ProcessId;
using base::RankId;

Finding make(const std::string& rule, std::int64_t process, RootKind kind = RootKind::none,
    std::optional<std::int64_t> root = std::nullopt) {
    Finding finding;
    finding.rule = rule;
    finding.processId = ProcessId(process);
    finding.processes = {finding.processId};
    finding.rootKind = kind;
    finding.rootId = root;
    return finding;
}

Finding onRank(Finding finding, std::int64_t rank) {
    finding.rank = RankId(rank);
    finding.ranks = {finding.rank};
    return finding;
}

Precedence precedence(const std::string& text) {
    return std::move(Precedence::parse(text, "precedence.txt")).value();
}

TEST(Precedence, HeadIsTheFirstLineThatApplies) {
    const Precedence order = precedence("[capture]\nGD108 if alone # note\nGD101\nGD108\n");
    const auto heads
        = foldByRoot({make("GD108", 1, RootKind::capture, 4), make("GD101", 1, RootKind::capture, 4)}, order);
    ASSERT_EQ(heads.size(), 1U);
    EXPECT_EQ(heads[0].rule, "GD101");
    ASSERT_EQ(heads[0].folded.size(), 1U);
    EXPECT_EQ(heads[0].folded[0].rule, "GD108");

    Finding alone = make("GD108", 1, RootKind::capture, 4);
    alone.columns = {{"alone", Value(std::int64_t{1})}};
    EXPECT_EQ(foldByRoot({make("GD101", 1, RootKind::capture, 4), alone}, order)[0].rule, "GD108");
}

TEST(Precedence, ChildWithoutALineStandsAboveItsParent) {
    const Precedence order = precedence("[capture]\nGD103\nGD101\n");
    Finding child = make("GD702", 1, RootKind::capture, 4);
    child.parent = "GD101";
    const Finding first = make("GD103", 1, RootKind::capture, 4);
    const Finding parent = make("GD101", 1, RootKind::capture, 4);
    const Finding stranger = make("GD100", 1, RootKind::capture, 4);
    EXPECT_LT(order.place(first), order.place(child));
    EXPECT_LT(order.place(child), order.place(parent));
    EXPECT_LT(order.place(parent), order.place(stranger));
    EXPECT_EQ(foldByRoot({parent, child, stranger}, order)[0].rule, "GD702");
}

TEST(Precedence, NamesTheLineOfAnError) {
    const auto error
        = [](const std::string& text) { return Precedence::parse(text, "p.txt").error().message; };
    EXPECT_EQ(error("GD1\n"), "p.txt:1: expected a group such as [capture] first, found \"GD1\"");
    EXPECT_EQ(error("[captures]\n"),
        "p.txt:1: expected [capture], [exec], [comm], [step] or [process_fault], found \"[captures]\"");
    EXPECT_EQ(error("[none]\n").substr(0, 8), "p.txt:1:");
    EXPECT_EQ(
        error("[step]\nGD1 when x\n"), "p.txt:2: expected \"ID\" or \"ID if COLUMN\", found \"GD1 when x\"");
    EXPECT_EQ(
        error("[step]\nGD1\nGD1\n"), "p.txt:3: GD1 can never be reached here, an earlier line covers it");
    EXPECT_EQ(error("[step]\nGD1\nGD1 if a\n"),
        "p.txt:3: GD1 can never be reached here, an earlier line covers it");
}

TEST(Precedence, ShippedListFollowsTheContract) {
    const Precedence order = std::move(Precedence::load(GD_SOURCE_DIR "/rules/precedence.txt")).value();
    const std::vector<std::string> capture = order.ids(RootKind::capture);
    const auto at = [&](const char* id) { return std::find(capture.begin() + 1, capture.end(), id); };
    EXPECT_EQ(capture[0], "GD108");
    const char* sequence[]
        = {"GD109", "GD103", "GD104", "GD105", "GD106", "GD107", "GD102", "GD101", "GD108", "GD113"};
    for (std::size_t i = 1; i < std::size(sequence); ++i)
        EXPECT_LT(at(sequence[i - 1]), at(sequence[i])) << sequence[i];
    EXPECT_EQ(order.ids(RootKind::exec)[0], "GD202");
    EXPECT_THAT(order.ids(RootKind::step),
        testing::IsSupersetOf({"GD302", "GD306", "GD305", "GD310", "GD303", "GD301", "GD304"}));
}

TEST(Folding, KeepsRootsProcessesAndKindsApart) {
    const Precedence none;
    const auto heads = foldByRoot({make("GD1", 1, RootKind::capture, 4), make("GD1", 2, RootKind::capture, 4),
                                      make("GD1", 1, RootKind::exec, 4), make("GD1", 1, RootKind::capture, 5),
                                      make("GD1", 1, RootKind::capture), make("GD1", 1)},
        none);
    EXPECT_EQ(heads.size(), 6U);
}

TEST(MergeRanks, SameFindingOnSeveralRanksIsOne) {
    Finding a = onRank(make("GD1", 1), 0);
    a.locations = {{"train.py", 3, "train", "", "python"}};
    a.costNs = 10;
    Finding b = onRank(make("GD1", 2), 3);
    b.locations = {{"other/train.py", 4, "train", "", "python"}};
    b.costNs = 30;
    Finding c = onRank(make("GD1", 3), 2);
    c.locations = {{"train.py", 3, "validate", "", "python"}};
    const auto merged = mergeRanks({a, b, c});
    ASSERT_EQ(merged.size(), 2U);
    const Finding& both = merged[0].ranks.size() == 2 ? merged[0] : merged[1];
    EXPECT_EQ(both.ranks, (std::vector<RankId>{RankId(0), RankId(3)}));
    EXPECT_EQ(both.rank, RankId(3)) << "the costliest rank represents them";
    EXPECT_EQ(both.costNs, 30) << "ranks run side by side: not the sum";
}

TEST(MergeRanks, NeverMergesInsideAProcessOrWithoutARank) {
    EXPECT_EQ(mergeRanks({onRank(make("GD1", 1), 0), onRank(make("GD1", 1), 0)}).size(), 2U);
    EXPECT_EQ(mergeRanks({make("GD1", 1), make("GD1", 2)}).size(), 2U);
    const auto pairs
        = mergeRanks({onRank(make("GD1", 1), 0), onRank(make("GD1", 1), 0), onRank(make("GD1", 2), 1)});
    EXPECT_EQ(pairs.size(), 2U);
}

TEST(MergeRanks, SignatureAndMergeKeyKeepFindingsApart) {
    Finding a = onRank(make("GD1", 1), 0);
    Finding b = onRank(make("GD1", 2), 1);
    a.graphSignature = "7";
    b.graphSignature = "8";
    EXPECT_EQ(mergeRanks({a, b}).size(), 2U);
    b.graphSignature = "7";
    EXPECT_EQ(mergeRanks({a, b}).size(), 1U);
    b.mergeKey = "host_sync";
    EXPECT_EQ(mergeRanks({a, b}).size(), 2U);
}

TEST(ReportOrder, SeverityImpactCostStart) {
    Finding gap = make("GD301", 1);
    gap.severity = Severity::warning;
    gap.impact = Impact::slow;
    gap.costNs = 2'000'000;
    Finding broken = gap;
    broken.rule = "GD101";
    broken.costNs = std::nullopt;
    EXPECT_TRUE(comesBefore(broken, gap)) << "unknown cost is never below a known one";
    EXPECT_FALSE(comesBefore(gap, broken));
    gap.impact = Impact::wrong;
    EXPECT_TRUE(comesBefore(gap, broken));
    broken.severity = Severity::error;
    EXPECT_TRUE(comesBefore(broken, gap));
    Finding later = gap;
    gap.startNs = 5;
    later.startNs = 6;
    EXPECT_TRUE(comesBefore(gap, later));
    later.startNs = std::nullopt;
    EXPECT_TRUE(comesBefore(gap, later));
}

// Random findings: nothing is lost or doubled, heads are best of their group, order does not depend on the
// input's.
class FoldingProperty : public testing::TestWithParam<unsigned> { };

void countInto(const Finding& finding, std::multiset<std::string>& messages) {
    messages.insert(finding.message);
    for (const Finding& folded : finding.folded)
        countInto(folded, messages);
}

TEST_P(FoldingProperty, LosesNothingAndIsDeterministic) {
    std::mt19937 random(GetParam());
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const Precedence order = precedence("[capture]\nGD3 if flag\nGD1\nGD2\nGD3\n[step]\nGD2\nGD1\n");
    std::vector<Finding> findings;
    for (int i = 0; i < 60; ++i) {
        Finding finding = make("GD" + std::to_string(1 + pick(5)), 1 + pick(3));
        finding.rootKind = static_cast<RootKind>(pick(6));
        if (pick(4) != 0)
            finding.rootId = pick(3);
        finding.severity = static_cast<Severity>(pick(3));
        finding.impact = static_cast<Impact>(pick(5));
        if (pick(2) != 0)
            finding.costNs = pick(5);
        if (pick(2) != 0)
            finding.parent = "GD1";
        finding.columns = {{"flag", Value(std::int64_t{pick(2)})}};
        finding.message = std::to_string(i);
        findings.push_back(finding);
    }
    std::multiset<std::string> before;
    for (const Finding& finding : findings)
        countInto(finding, before);

    const auto heads = foldMergeAndSort(findings, order);
    std::multiset<std::string> after;
    std::set<std::tuple<ProcessId, RootKind, std::int64_t>> roots;
    for (const Finding& head : heads) {
        countInto(head, after);
        for (const Finding& folded : head.folded) {
            EXPECT_EQ(std::tie(folded.processId, folded.rootKind, folded.rootId),
                std::tie(head.processId, head.rootKind, head.rootId));
            EXPECT_LE(order.place(head), order.place(folded));
        }
        if (head.rootKind != RootKind::none && head.rootId) {
            EXPECT_TRUE(roots.insert({head.processId, head.rootKind, *head.rootId}).second)
                << "one head a root";
        }
    }
    EXPECT_EQ(before, after);
    EXPECT_TRUE(std::is_sorted(heads.begin(), heads.end(), comesBefore));

    std::shuffle(findings.begin(), findings.end(), random);
    const auto again = foldMergeAndSort(findings, order);
    ASSERT_EQ(again.size(), heads.size());
    for (std::size_t i = 0; i < heads.size(); ++i) {
        EXPECT_EQ(again[i].message, heads[i].message);
        EXPECT_EQ(again[i].folded.size(), heads[i].folded.size());
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FoldingProperty, testing::Range(1U, 21U),
    [](const auto& one) { return "Seed" + std::to_string(one.param); });

} // namespace
} // namespace gd::rules
