// SPDX-License-Identifier: Apache-2.0
// The whole line on a machine without a GPU: job, collector, ring, segments, trace, facts, rules, report.
#include "tests/e2e/fault_line.h"
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gd::test;
using testing::HasSubstr;

namespace {

int atOrAboveWarning(const nlohmann::json& report) {
    int count = 0;
    for (const auto& finding : report["findings"])
        count += finding["severity"] != "info" ? 1 : 0;
    return count;
}

TEST(HostLine, AFaultInACaptureIsNamedWithItsSourceLine) {
    const Workshop shop;
    const ProgramEnd end = shop.run(
        recordTrainer({"-o", shop.file("x.gdt")}, {"--steps", "60", "--fault", "item-in-capture"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto places = printedFaultLines(shop, end.err);
    ASSERT_FALSE(places.empty()) << end.err;
    EXPECT_THAT(end.err, HasSubstr("fix first GD101 "));

    const auto report = reportOf(shop, shop.file("x.gdt"));
    ASSERT_FALSE(report["findings"].empty());
    const auto& finding = report["findings"][0];
    EXPECT_EQ(finding["rule"], "GD101");
    EXPECT_THAT(finding["message"], HasSubstr("cuStreamSynchronize"));
    ASSERT_FALSE(finding["locations"].empty());
    EXPECT_EQ(finding["locations"][0]["file"], places[0].file);
    EXPECT_EQ(finding["locations"][0]["line"], places[0].line);
}

TEST(HostLine, AHealthyRunGivesNothingAtWarningOrAbove) {
    const Workshop shop;
    const ProgramEnd end = shop.run(recordTrainer({"-o", shop.file("x.gdt")}, {"--steps", "120"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_EQ(atOrAboveWarning(report), 0) << end.err;
    EXPECT_GE(report["trace"]["steps"]["count"], 100);
    EXPECT_TRUE(report["trace"]["runtime_seen"]);
    EXPECT_EQ(report["trace"]["exit_status"], 0);
    ASSERT_EQ(report["processes"].size(), 1u);
    EXPECT_EQ(report["processes"][0]["exit_status"], 0);
    EXPECT_FALSE(report["vitals"].empty());
    EXPECT_TRUE(shop.spools().empty()) << "the spool must be gone after a successful import";
}

TEST(HostLine, GraphsOfEveryLayerAfterALongWarmupAreNoRecaptures) {
    const Workshop shop;
    const ProgramEnd end = shop.run(recordTrainer({"-o", shop.file("x.gdt")},
        {"--steps", "60", "--layers", "8", "--graph-scope", "layer", "optimizer", "--graph-warmup", "11"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_EQ(atOrAboveWarning(report), 0) << end.err;
}

TEST(HostLine, TwoRanksAreOneTrace) {
    const Workshop shop;
    const ProgramEnd end
        = shop.run(recordTrainer({"-o", shop.file("x.gdt")}, {"--steps", "60", "--dp", "2"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    std::vector<int> ranks;
    for (const auto& process : report["processes"]) {
        if (process["rank"].is_number())
            ranks.push_back(process["rank"]);
    }
    EXPECT_THAT(ranks, testing::ElementsAre(0, 1));
    EXPECT_EQ(atOrAboveWarning(report), 0) << end.err;
}

} // namespace
