// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class RankDivergenceTest : public testing::Test {
protected:
    static constexpr std::int64_t kComm = 0xabc;

    void rank(const std::vector<std::pair<std::string, std::int64_t>>& calls, std::int64_t capture = 0,
        std::optional<std::int64_t> destroyedNs = std::nullopt) {
        trace.comm(kComm, 2, 100, destroyedNs);
        std::int64_t timeNs = 1000;
        for (const auto& [kind, bytes] : calls)
            trace.commOp(kComm, kind, bytes, timeNs += 10, capture);
    }
    std::string first() {
        build(trace);
        return trace.text(
            "SELECT what || ' ' || position || ': ' || here || ' / ' || there FROM rank_divergence");
    }

    TraceBuilder trace;
};

TEST_F(RankDivergenceTest, NoneWhenAllDoTheSame) {
    rank({{"all_reduce", 64}, {"send", 8}, {"all_gather", 16}});
    trace.process(2);
    rank({{"all_reduce", 64}, {"all_gather", 16}, {"recv", 8}});
    EXPECT_EQ(first(), "none 0: no further call / no further call");
    EXPECT_EQ(trace.number("SELECT calls FROM rank_divergence"), 2);
    EXPECT_EQ(trace.number("SELECT known FROM rank_divergence"), 1);
}

TEST_F(RankDivergenceTest, OtherBytes) {
    rank({{"all_reduce", 64}, {"all_reduce", 64}});
    trace.process(2);
    rank({{"all_reduce", 64}, {"all_reduce", 128}});
    EXPECT_EQ(first(), "bytes 1: all_reduce of 128 bytes, eager / all_reduce of 64 bytes, eager");
    EXPECT_EQ(trace.number("SELECT rank FROM rank_divergence"), 1);
    EXPECT_EQ(trace.number("SELECT other_rank FROM rank_divergence"), 0);
}

TEST_F(RankDivergenceTest, CapturedHereEagerThere) {
    rank({{"all_reduce", 64}});
    trace.process(2);
    rank({{"all_reduce", 64}}, 3);
    EXPECT_EQ(first(), "captured 0: all_reduce of 64 bytes, captured / all_reduce of 64 bytes, eager");
}

// One rank's capture fails before the call, and the graph of the other, which has captured it, is thrown
// away: nobody communicated, and both go on eagerly.
TEST_F(RankDivergenceTest, CallsOfGraphsThatNeverRanDoNotCount) {
    trace.capturedGraph(3, 500, 900, {"kernel"});
    trace.comm(kComm, 2, 100);
    trace.commOp(kComm, "all_reduce", 64, 800, 3);
    trace.commOp(kComm, "all_reduce", 64, 2000);
    trace.process(2);
    trace.capture(500, {.id = 4, .endNs = 900});
    trace.comm(kComm, 2, 100);
    trace.commOp(kComm, "all_reduce", 32, 800, 4);
    trace.commOp(kComm, "all_reduce", 64, 2000);
    EXPECT_EQ(first(), "none 0: no further call / no further call");
    EXPECT_EQ(trace.number("SELECT calls FROM rank_divergence"), 1);
}

TEST_F(RankDivergenceTest, CallsOfGraphsThatRanCount) {
    trace.capturedGraph(3, 500, 900, {"kernel"});
    trace.replay(3, 1000, 1010, 1020, 1030);
    trace.comm(kComm, 2, 100);
    trace.commOp(kComm, "all_reduce", 64, 800, 3);
    trace.process(2);
    trace.comm(kComm, 2, 100);
    trace.commOp(kComm, "all_reduce", 64, 2000);
    EXPECT_EQ(first(), "captured 0: all_reduce of 64 bytes, eager / all_reduce of 64 bytes, captured");
}

TEST_F(RankDivergenceTest, OtherKind) {
    rank({{"all_reduce", 64}});
    trace.process(2);
    rank({{"all_gather", 64}});
    EXPECT_EQ(first(), "kind 0: all_gather of 64 bytes, eager / all_reduce of 64 bytes, eager");
}

TEST_F(RankDivergenceTest, MoreCallsAreNoneWhileOneMayJustBeCutOff) {
    rank({{"all_reduce", 64}});
    trace.process(2);
    rank({{"all_reduce", 64}, {"all_reduce", 64}});
    EXPECT_EQ(first(), "none 0: no further call / no further call");
}

TEST_F(RankDivergenceTest, MoreCallsAreADifferenceAfterBothDestroyedIt) {
    rank({{"all_reduce", 64}}, 0, 900'000);
    trace.process(2);
    rank({{"all_reduce", 64}, {"all_reduce", 32}}, 0, 900'000);
    EXPECT_EQ(first(), "count 1: all_reduce of 32 bytes, eager / no further call");
}

TEST_F(RankDivergenceTest, MoreCallsAreNoneWhereOneAbortedIt) {
    rank({{"all_reduce", 64}}, 0, 900'000);
    trace.call(1, GD_API_COMM_ABORT, 899'990, 900'010);
    trace.process(2);
    rank({{"all_reduce", 64}, {"all_reduce", 32}}, 0, 900'000);
    EXPECT_EQ(first(), "none 0: no further call / no further call");
}

TEST_F(RankDivergenceTest, UnknownWithOneRankAlone) {
    rank({{"all_reduce", 64}});
    trace.comm(kComm + 1, 1, 200); // of one rank: nobody to differ from
    build(trace);
    EXPECT_EQ(trace.text("SELECT known || ' ' || rank || ' ' || why FROM rank_divergence"),
        "0 0 1 of 2 ranks of a communicator is in this trace");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM rank_divergence"), 1);
    EXPECT_TRUE(trace.isNull("SELECT other_process_id FROM rank_divergence"));
}

TEST_F(RankDivergenceTest, UnknownWhereItWasMadeBeforeTheRecording) {
    trace.comm(kComm, 2, 0);
    trace.commOp(kComm, "all_reduce", 64, 1000);
    trace.process(2);
    rank({{"all_reduce", 128}});
    build(trace);
    EXPECT_EQ(
        trace.text("SELECT known || ' ' || why FROM rank_divergence"), "0 its first calls were not recorded");
}

TEST_F(RankDivergenceTest, UnknownWhereCallsWereMissed) {
    trace.coverage("comm_ops", "partial");
    rank({{"all_reduce", 64}});
    trace.process(2);
    rank({{"all_reduce", 128}});
    first();
    EXPECT_EQ(trace.number("SELECT known FROM rank_divergence"), 0);
}

} // namespace
} // namespace gd::facts
