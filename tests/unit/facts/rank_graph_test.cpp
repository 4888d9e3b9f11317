// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_graph.h"
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

const std::vector<std::string> kRankKernels{"fetch", "gemm", "gelu", "gemm", "loss"};

// Twenty steps of a process, in which the kernels are launched one by one.
void runEagerly(TraceBuilder& trace, const std::vector<std::string>& kernels = kRankKernels) {
    addSteps(trace, 20, 10 * kMs);
    for (int i = 0; i < 20; ++i) {
        std::int64_t at = (i + 1) * 10 * kMs;
        for (const std::string& kernel : kernels) {
            trace.launch(1, kernel, at, at + 10 * kUs, at + 500 * kUs, {});
            at += kMs;
        }
    }
}

// Processes 1, 2, ... are the ranks of one job.
std::int64_t rows(TraceBuilder& trace) {
    trace.sql("UPDATE process SET world_size = 8");
    build(trace);
    return trace.number("SELECT COUNT(*) FROM rank_graph");
}

TEST(RankGraph, OneRankCapturedWhatTheOtherLaunchesOneByOne) {
    TraceBuilder trace;
    addSteps(trace, 20, 10 * kMs);
    trace.capturedGraph(4, 100, 200, kRankKernels, "cycle");
    for (int i = 0; i < 3; ++i)
        trace.replay(4, (i + 5) * 10 * kMs, (i + 5) * 10 * kMs + 10, -1, -1);
    trace.process(2);
    runEagerly(trace);
    trace.process(3);
    runEagerly(trace);
    EXPECT_EQ(rows(trace), 2);
    EXPECT_EQ(
        trace.text("SELECT GROUP_CONCAT(process_id || ' ' || other_process_id) FROM rank_graph"), "1 2,1 3");
    EXPECT_EQ(trace.text("SELECT graph_name FROM rank_graph"), "cycle");
    EXPECT_EQ(trace.number("SELECT capture_id FROM rank_graph"), 4);
    EXPECT_EQ(trace.number("SELECT kernels FROM rank_graph"), 5);
    EXPECT_EQ(trace.number("SELECT captured_by FROM rank_graph"), 1);
    EXPECT_EQ(trace.number("SELECT replays FROM rank_graph"), 3);
    EXPECT_EQ(trace.number("SELECT eager_runs FROM rank_graph"),
        trace.number("SELECT steps FROM steady_state WHERE process_id = 2"));
    EXPECT_GT(trace.number("SELECT eager_runs FROM rank_graph"), 10);
    EXPECT_EQ(trace.number("SELECT start_ns FROM rank_graph"), 100);
    EXPECT_EQ(trace.number("SELECT known FROM rank_graph"), 1);
}

TEST(RankGraph, NoneWhenBothCapturedIt) {
    TraceBuilder trace;
    trace.capturedGraph(4, 100, 200, kRankKernels);
    trace.process(2);
    runEagerly(trace);
    trace.capturedGraph(4, 150, 200, kRankKernels);
    EXPECT_EQ(rows(trace), 0);
}

TEST(RankGraph, NoneWhenTheOtherTriedAndFailed) {
    TraceBuilder trace;
    trace.capturedGraph(4, 100, 200, kRankKernels);
    trace.process(2);
    runEagerly(trace);
    trace.capture(150, {.id = 9, .endNs = 180, .endResult = 901});
    EXPECT_EQ(rows(trace), 0);
}

TEST(RankGraph, NoneForOtherKernelsAndForTwoKernels) {
    TraceBuilder trace;
    trace.capturedGraph(4, 100, 200, {"forward", "backward", "send"});
    trace.capturedGraph(5, 300, 400, {"fetch", "gemm"});
    trace.process(2);
    runEagerly(trace);
    EXPECT_EQ(rows(trace), 0);
}

TEST(RankGraph, NoneInOneProcess) {
    TraceBuilder trace;
    trace.capturedGraph(4, 100, 200, kRankKernels);
    runEagerly(trace);
    EXPECT_EQ(rows(trace), 0);
}

// Process 1 captured, process 2 launches the same kernels one by one; nothing says that they belong together.
void addTwoPrograms(TraceBuilder& trace) {
    trace.capturedGraph(4, 100, 200, kRankKernels, "cycle");
    trace.process(2);
    runEagerly(trace);
    trace.sql("UPDATE process SET rank = NULL");
}

std::int64_t rowsAsTheyAre(TraceBuilder& trace) {
    build(trace);
    return trace.number("SELECT COUNT(*) FROM rank_graph");
}

TEST(RankGraph, NoneForProgramsThatHaveNothingToDoWithEachOther) {
    TraceBuilder trace;
    addTwoPrograms(trace);
    EXPECT_EQ(rowsAsTheyAre(trace), 0);
}

TEST(RankGraph, ACommunicatorMakesAJob) {
    TraceBuilder trace;
    addTwoPrograms(trace);
    trace.sql("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
              "VALUES (1, 77, 2, 0, 10), (2, 77, 2, 1, 10)");
    EXPECT_EQ(rowsAsTheyAre(trace), 1);
}

TEST(RankGraph, AnotherCommunicatorMakesNone) {
    TraceBuilder trace;
    addTwoPrograms(trace);
    trace.sql("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
              "VALUES (1, 77, 2, 0, 10), (2, 78, 2, 1, 10)");
    EXPECT_EQ(rowsAsTheyAre(trace), 0);
}

TEST(RankGraph, CommunicatorsTellTwoJobsOfOneSizeApart) {
    TraceBuilder trace;
    addTwoPrograms(trace);
    trace.sql("UPDATE process SET rank = process_id - 1, world_size = 2");
    trace.sql("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
              "VALUES (1, 77, 2, 0, 10), (2, 78, 2, 1, 10)");
    EXPECT_EQ(rowsAsTheyAre(trace), 0);
    trace.sql("DELETE FROM nccl_comm WHERE process_id = 2");
    EXPECT_EQ(rowsAsTheyAre(trace), 1);
}

TEST(RankGraph, RanksOfOtherSizesOrOfOneJobAfterTheOtherAreNoJob) {
    TraceBuilder trace;
    addTwoPrograms(trace);
    trace.sql("UPDATE process SET rank = process_id - 1, world_size = process_id + 1");
    EXPECT_EQ(rowsAsTheyAre(trace), 0);
    TraceBuilder later;
    addTwoPrograms(later);
    later.sql("UPDATE process SET rank = process_id - 1, world_size = 2");
    later.sql("UPDATE process SET end_ns = 5000 WHERE process_id = 1;"
              "UPDATE process SET start_ns = 5000 WHERE process_id = 2");
    EXPECT_EQ(rowsAsTheyAre(later), 0);
    later.sql("UPDATE process SET host = 'other' WHERE process_id = 2");
    EXPECT_EQ(rowsAsTheyAre(later), 1);
}

TEST(RankGraph, UnknownWhereLaunchesWereNotRecorded) {
    TraceBuilder trace;
    trace.capturedGraph(4, 100, 200, kRankKernels);
    trace.process(2);
    runEagerly(trace);
    trace.coverage("eager_kernel_activity", "absent");
    EXPECT_EQ(rows(trace), 1);
    EXPECT_EQ(trace.number("SELECT known FROM rank_graph"), 0);
}

} // namespace
} // namespace gd::facts
