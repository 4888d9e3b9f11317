// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/job_words.h"
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

std::string shown(std::string_view mark) {
    const auto decision = graphDecision(mark);
    return decision ? decision->graph + "|" + decision->from + "|" + decision->to + "|" + decision->reason
                    : "none";
}

TEST(GraphDecision, IsReadFromItsMark) {
    EXPECT_EQ(
        shown("graph cycle seq=64 mb=4x2 f32: cold -> warming"), "cycle seq=64 mb=4x2 f32|cold|warming|");
    EXPECT_EQ(shown("graph a: b: capturing -> failed (the pool is exhausted: 3 (of 4) MiB)"),
        "a: b|capturing|failed|the pool is exhausted: 3 (of 4) MiB");
    EXPECT_EQ(shown("graph optimizer: instantiating -> ready, 7 nodes"), "optimizer|instantiating|ready|");
    EXPECT_EQ(shown("graph x: eager_run -> failed (why), 7 nodes"), "x|eager_run|failed|why");
}

TEST(GraphDecision, OtherMarksAreNone) {
    for (const char* mark : {"", "graph", "graph ", "graph : a -> b", "graph x: a", "graph x a -> b",
             "graph x: A -> b", "graph x: a -> ", "graph x:  -> b", "a graph x: a -> b", "graph x: a b -> c"})
        EXPECT_EQ(shown(mark), "none") << mark;
    EXPECT_EQ(shown("graph x: a -> b (open"), "x|a|b|");
}

TEST(GraphDecision, IsCountedAndKnowsWhetherTheGraphCameLater) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    const auto mark = [&](const char* text, std::int64_t timeNs) { trace.range(2, text, timeNs, timeNs); };
    mark("graph cycle: capturing -> failed (no pool)", 35 * kMs);
    mark("graph cycle: capturing -> failed (no pool)", 25 * kMs);
    mark("graph cycle: instantiating -> ready, 7 nodes", 30 * kMs);
    mark("graph other: capturing -> failed", 25 * kMs);
    mark("graph other: instantiating -> ready, 7 nodes", 26 * kMs);
    trace.range(2, "graph range: capturing -> failed (no pool)", 25 * kMs, 26 * kMs);
    build(trace);
    const auto failed = [&](const char* column, const char* graph) {
        return trace.text(std::string("SELECT ") + column
            + " FROM graph_decision WHERE to_state = 'failed' AND graph = '" + graph + "'");
    };
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM graph_decision"), 4) << "a range is no mark";
    EXPECT_EQ(failed("count", "cycle"), "2");
    EXPECT_EQ(failed("start_ns", "cycle"), std::to_string(25 * kMs));
    EXPECT_EQ(failed("end_ns", "cycle"), std::to_string(35 * kMs));
    EXPECT_EQ(failed("step", "cycle"), "1");
    EXPECT_EQ(failed("thread_id", "cycle"), "2");
    EXPECT_EQ(failed("reason", "cycle"), "no pool");
    EXPECT_EQ(failed("ready_after", "cycle"), "0") << "it failed again after it was ready";
    EXPECT_EQ(failed("ready_after", "other"), "1");
    EXPECT_EQ(failed("reason", "other"), "NULL");
}

TEST(StatedVersion, NumbersAreCudas) {
    EXPECT_EQ(cudaNumber("13.0"), 13000);
    EXPECT_EQ(cudaNumber("12.4.1"), 12040);
    EXPECT_EQ(cudaNumber("CUDA 9.1 or so"), 9010);
    for (const char* text : {"", "13", "13.", "x.1", "99999.1", "1.99999", "18446744073709551616.0"})
        EXPECT_EQ(cudaNumber(text), std::nullopt) << text;
}

TEST(StatedVersion, ComesFromEveryPlaceThatNamesOne) {
    TraceBuilder trace;
    trace.sql(
        "INSERT INTO process_fact VALUES (1, 'driver_version', 'CUDA 13.0, driver 580.65.06'), "
        "(1, 'cuda_runtime_version', '12.9'), (1, 'cupti_version', '130001');"
        "INSERT INTO env_var VALUES (1, 'CUDA_VERSION', '12.4.1'), (1, 'CUDA_HOME', '/usr/local/cuda-9.0')");
    trace.range(1, "versions: built for CUDA 12.8, runtime CUDA 12.9", 5, 5);
    trace.process(2);
    trace.sql("INSERT INTO env_var VALUES (2, 'CUDA_VERSION', 'unknown')");
    trace.range(1, "versions: built for CUDA 12.8", 5, 5);
    build(trace);
    EXPECT_EQ(
        trace.text(
            "SELECT GROUP_CONCAT(process_id || ' ' || component || ' ' || version || ' ' || number || ' ' "
            "|| source, '; ') FROM (SELECT * FROM stated_version ORDER BY component, source)"),
        "1 built_for 12.8 12080 mark 'versions'; 1 container 12.4.1 12040 CUDA_VERSION; "
        "1 driver 13.0 13000 driver_version; 1 runtime 12.9 12090 cuda_runtime_version; "
        "1 runtime 12.9 12090 mark 'versions'");
}

} // namespace
} // namespace gd::facts
