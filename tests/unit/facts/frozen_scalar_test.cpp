// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/scalar_series.h"
#include "tests/unit/facts/facts_test_support.h"

#include <bit>

namespace gd::facts {
namespace {

std::uint64_t real(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

TEST(ScalarSeries, ReadsIntegersAndReals) {
    const auto steps = changingSeries({4, 4}, {1, 2, 3});
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->text, "1, 2, 3");
    EXPECT_EQ(steps->frozenText, "4");
    EXPECT_TRUE(steps->hasTrend);
    EXPECT_EQ(steps->distinct, 3u);
    const auto rate = changingSeries({4, real(0.01F)}, {real(0.1F), real(0.05F), real(0.07F)});
    ASSERT_TRUE(rate);
    EXPECT_EQ(rate->text, "0.1, 0.05, 0.07");
    EXPECT_EQ(rate->frozenText, "0.01");
    EXPECT_FALSE(rate->hasTrend);
    const auto wide = changingSeries({8, std::bit_cast<std::uint64_t>(0.3)},
        {std::bit_cast<std::uint64_t>(0.5), std::bit_cast<std::uint64_t>(0.4)});
    ASSERT_TRUE(wide);
    EXPECT_EQ(wide->text, "0.5, 0.4");
    EXPECT_EQ(wide->bytes, 8);
}

TEST(ScalarSeries, TakesOutTheHalfThatChanges) {
    // struct { float decay; int step; }
    const auto pack = [](float decay, std::uint64_t step) { return real(decay) | step << 32; };
    const auto step = changingSeries({8, pack(0.9F, 9)}, {pack(0.9F, 1), pack(0.9F, 2), pack(0.9F, 3)});
    ASSERT_TRUE(step);
    EXPECT_EQ(step->offset, 4);
    EXPECT_EQ(step->bytes, 4);
    EXPECT_EQ(step->text, "1, 2, 3");
    EXPECT_EQ(step->frozenText, "9");
    const auto decay = changingSeries({8, pack(0.9F, 7)}, {pack(0.5F, 7), pack(0.6F, 7)});
    ASSERT_TRUE(decay);
    EXPECT_EQ(decay->offset, 0);
    EXPECT_EQ(decay->text, "0.5, 0.6");
}

TEST(ScalarSeries, SaysNothingOfConstantsSettledValuesAndAddresses) {
    EXPECT_FALSE(changingSeries({4, 1}, {1, 1, 1}));
    EXPECT_FALSE(changingSeries({4, 5}, {1, 2, 5, 5, 5})) << "tuned during warm-up, then settled";
    EXPECT_FALSE(changingSeries({8, 0x7f00'1234'0000}, {0x7f00'1234'1000, 0x7f00'1234'2000}));
    EXPECT_TRUE(changingSeries({4, 5}, {1, 2, 4, 4, 5}));
    EXPECT_FALSE(changingSeries({4, 5}, {0x55d0'1201, 0x7ffd'5501, 0x7ffe'0001})) << "padding";
    EXPECT_TRUE(changingSeries({8, 0x10'0000'3001}, {0x10'0000'0001, 0x10'0000'1001, 0x10'0000'2001}))
        << "equal steps";
}

// Padding of PyTorch's reduce_kernel, as an H200 recorded it: what lay on the stack in nine eager steps
// (halves of times and addresses) and when the step was captured.
TEST(ScalarSeries, SaysNothingWhenTheGraphsValueDoesNotGoOnFromTheOthers) {
    EXPECT_FALSE(
        changingSeries({4, 4041199440}, {9010, 10101, 11165, 12197, 13252, 14343, 15435, 16534, 17621}));
    EXPECT_FALSE(changingSeries({4, 32765}, {2310, 2348, 2386, 2424, 2463, 2501, 2539, 2577, 2613}));
    EXPECT_FALSE(changingSeries({4, real(1.297e29F)}, {real(-1.6e-17F), real(-6.8e-17F), real(-2.7e-16F)}));
    EXPECT_FALSE(changingSeries({4, 7}, {real(-1.6F), real(-6.8F), real(-2.7F)}))
        << "no number that a program uses";
    EXPECT_TRUE(changingSeries({4, 60}, {1, 2, 3, 4, 5})) << "some eager steps were not seen";
    EXPECT_TRUE(changingSeries({4, real(0)}, {real(1e-4F), real(2e-4F), real(3e-4F)}))
        << "a rate that warms up";
}

bool hasTrend(std::uint64_t frozen, const std::vector<std::uint64_t>& eager) {
    const auto series = changingSeries({4, frozen}, eager);
    return series && series->hasTrend;
}

// Tails of by-value structures that PyTorch 2.11 leaves as they are (multi_tensor_apply_kernel,
// reduce_kernel, elementwise_kernel, CatArrayBatchedCopy), as an H200 recorded them in eager steps and in a
// capture: numbers of calls that rise, also in equal steps, and the remains of rates.
TEST(ScalarSeries, WhatRisesButDoesNotGoOnToTheCaptureHasNoTrend) {
    EXPECT_FALSE(hasTrend(1269, {731, 845, 959}));
    EXPECT_FALSE(hasTrend(9306, {6381, 6931, 7481, 8031, 8581}));
    EXPECT_FALSE(hasTrend(612, {403, 418, 433, 448, 463}));
    EXPECT_FALSE(hasTrend(1151, {609, 686, 763, 840, 917}));
    EXPECT_FALSE(hasTrend(0, {58, 92, 126}));
    EXPECT_FALSE(hasTrend(22864, {7368, 10444, 13512, 16577, 19641}));
    EXPECT_FALSE(hasTrend(0, {527, 537, 547, 557, 569}));
    EXPECT_FALSE(hasTrend(real(2.84897e-16F),
        {real(4.99969e-05F), real(7.49813e-05F), real(9.99438e-05F), real(0.000124875F),
            real(0.000149766F)}));
    EXPECT_FALSE(hasTrend(real(3.84371e+07F), {real(141042), real(1.69913e+07F), real(2.37944e+07F)}));
    EXPECT_FALSE(hasTrend(real(2.33308e-07F), {real(3.0033e-07F), real(2.69152e-07F), real(2.38576e-07F)}));
}

TEST(ScalarSeries, StepsOfALikeSizeThatGoOnAreATrend) {
    EXPECT_TRUE(hasTrend(4, {1, 2, 3}));
    EXPECT_TRUE(hasTrend(60, {1, 2, 3, 4, 5})) << "some eager steps were not seen";
    EXPECT_TRUE(hasTrend(0, {1, 2, 3})) << "captured before the eager runs";
    EXPECT_TRUE(hasTrend(3, {1, 1, 2, 2, 3, 3})) << "two micro-batches a step";
    EXPECT_TRUE(hasTrend(64, {8, 16, 32})) << "doubled each time";
    EXPECT_TRUE(hasTrend(2048, {512, 1024, 1536}));
    EXPECT_TRUE(hasTrend(real(0), {real(1e-4F), real(2e-4F), real(3e-4F)})) << "a rate that warms up";
    EXPECT_TRUE(hasTrend(real(6.5e-4F), {real(9.5e-4F), real(8.8e-4F), real(7.8e-4F)})) << "along a cosine";
    EXPECT_TRUE(hasTrend(real(8192), {real(65536), real(32768), real(16384)})) << "halved each time";
    EXPECT_FALSE(hasTrend(5, {1, 9, 2, 30}));
}

TEST(ScalarSeries, SaysNothingOfWordsThatCannotBe) {
    for (const int bytes : {-8, 0, 1, 9, 64})
        EXPECT_FALSE(changingSeries({bytes, 4}, {1, 2, 3})) << bytes;
}

// A graph of two kernels, replayed four times; the second gets a host value as parameter 1.
class FrozenScalarTest : public testing::Test {
protected:
    explicit FrozenScalarTest(std::string second = "adam")
        : last(std::move(second)) {
        trace.capturedGraph(1, 1000, 2000, {"forward", last}, "step/cycle");
        for (int i = 0; i < 4; ++i)
            trace.replay(1, 3000 + 100 * i, 3010 + 100 * i, 3020 + 100 * i, 3080 + 100 * i);
    }
    void run(int number, std::initializer_list<std::string> kernels, std::int64_t set) {
        std::int64_t at = 10 * number;
        for (const std::string& kernel : kernels) {
            ++launches;
            trace.sql("INSERT INTO eager_launch SELECT 1, " + std::to_string(launches) + ", "
                + std::to_string(at++) + ", 1, 7, n.shape_id, "
                + (kernel == last ? std::to_string(set) : "NULL")
                + ", NULL FROM graph_node AS n WHERE n.name = '" + kernel
                + "' AND n.exec_id IS NULL LIMIT 1");
        }
        word("launch_scalar", set, number);
    }
    void word(const std::string& table, std::int64_t id, std::int64_t value) {
        trace.sql("INSERT INTO " + table + " VALUES (1, " + std::to_string(id) + ", 1, 0, 4, "
            + std::to_string(value) + ")");
    }
    void frozenAt(std::int64_t value) {
        word("node_scalar",
            trace.number("SELECT node_id FROM graph_node WHERE name = '" + last + "' AND exec_id IS NULL"),
            value);
    }

    const std::string last; ///< the second kernel's name
    TraceBuilder trace;
    int launches = 0;
};

class FrozenScalarNcclTest : public FrozenScalarTest {
protected:
    FrozenScalarNcclTest()
        : FrozenScalarTest("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)") { }
};

TEST_F(FrozenScalarTest, FindsTheStepThatStandsStill) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", "adam"}, i);
    frozenAt(4);
    build(trace);
    EXPECT_EQ(
        trace.text("SELECT node_name || ' ' || param || ' ' || frozen_text || ' of ' || eager_text || ' ' "
                   "|| replays || ' ' || confidence || ' ' || graph_name FROM frozen_scalar WHERE known"),
        "adam 1 4 of 1, 2, 3 4 high step/cycle");
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar"), 1);
}

TEST_F(FrozenScalarNcclTest, WhatTheLibraryCountsIsNotTheJobs) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", last}, i);
    frozenAt(4);
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar"), 0);
}

TEST_F(FrozenScalarTest, RunsOfOtherKernelsAreNoReference) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"adam"}, i); // never after the forward kernel
    frozenAt(4);
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar WHERE known"), 0);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar"), 1);
}

TEST_F(FrozenScalarTest, UpdatedExecutablesAreNotFrozen) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", "adam"}, i);
    frozenAt(4);
    trace.call(1, GD_API_GRAPH_EXEC_KERNEL_NODE_SET_PARAMS, 2500, 2510, {.object = 1});
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar"), 0);
}

TEST_F(FrozenScalarTest, AValueThatSeveralGraphsHaveEachIsNone) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", "adam"}, i);
    frozenAt(4);
    trace.capturedGraph(2, 4000, 4100, {"forward", "adam"}, "step/cycle");
    trace.replay(2, 5000, 5010, 5020, 5080);
    word("node_scalar",
        trace.number("SELECT n.node_id FROM graph_node AS n JOIN graph_exec AS e USING (graph_id) "
                     "WHERE n.name = 'adam' AND e.exec_id = 2"),
        5);
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar WHERE known"), 0);
}

// The same step count inside a structure of 160 bytes whose other words change as the stack does.
TEST_F(FrozenScalarTest, AStructureThatNobodyFilledIsNotBelieved) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", "adam"}, i);
    frozenAt(4);
    const std::string node = "(SELECT node_id FROM graph_node WHERE name = 'adam' AND exec_id IS NULL)";
    for (int offset = 8; offset < 160; offset += 8) {
        const std::string at = std::to_string(offset);
        trace.sql("INSERT INTO node_scalar VALUES (1, " + node + ", 1, " + at + ", 8, 0)");
        for (const auto& [set, value] : {std::pair("1", "7"), {"2", "91"}, {"3", "8"}}) {
            const bool changes = offset < 40;
            trace.sql("INSERT INTO launch_scalar VALUES (1, " + std::string(set) + ", 1, " + at + ", 8, "
                + (changes ? value : "0") + ")");
        }
    }
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar WHERE known AND has_trend"), 0);
    trace.sql("DELETE FROM launch_scalar WHERE offset BETWEEN 8 AND 32");
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar WHERE known AND has_trend"), 1);
}

TEST_F(FrozenScalarTest, AParameterOfItsOwnMayRiseAsItLikes) {
    for (const int value : {3, 14, 17})
        run(value, {"forward", "adam"}, value);
    frozenAt(20);
    build(trace);
    EXPECT_EQ(trace.number("SELECT has_trend + is_monotone FROM frozen_scalar WHERE known"), 2);
    trace.sql("UPDATE node_scalar SET offset = 4");
    trace.sql("UPDATE launch_scalar SET offset = 4");
    build(trace);
    EXPECT_EQ(trace.number("SELECT has_trend * 10 + is_monotone FROM frozen_scalar WHERE known"), 1)
        << "in a structure";
}

// Graphs of single layers: the first has no kernel in front that the others have.
TEST_F(FrozenScalarTest, ALayersNumberIsNoneThoughItsGraphIsShorterThanTheOthers) {
    for (int i = 0; i <= 3; ++i)
        run(i, {"add", "forward", "adam"}, i);
    frozenAt(0);
    trace.capturedGraph(2, 4000, 4100, {"add", "forward", "adam"}, "step/cycle");
    trace.replay(2, 5000, 5010, 5020, 5080);
    word("node_scalar",
        trace.number("SELECT n.node_id FROM graph_node AS n JOIN graph_exec AS e USING (graph_id) "
                     "WHERE n.name = 'adam' AND e.exec_id = 2"),
        1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar WHERE known AND exec_id = 1"), 0);
}

TEST_F(FrozenScalarTest, AConstantIsNone) {
    for (int i = 1; i <= 3; ++i)
        run(i, {"forward", "adam"}, 1);
    trace.sql("DELETE FROM launch_scalar WHERE value <> 1");
    frozenAt(1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM frozen_scalar"), 0);
}

} // namespace
} // namespace gd::facts
