// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

#include <fstream>
#include <sstream>

namespace gd::facts {
namespace {

std::string where(const char* name, std::int64_t process = 1) {
    return " FROM vital_sign WHERE name = '" + std::string(name)
        + "' AND process_id = " + std::to_string(process);
}

void addJob(TraceBuilder& trace) {
    addSteps(trace, 30, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm", "gelu", "loss"});
    trace.capturedGraph(2, 30, 40, {"norm", "adamw", "adamw"});
    trace.allocation(0x1000, 1 << 20, 100, {});
    for (int i = 0; i < 30; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + 6 * kMs);
        trace.replay(2, t + 6'090 * kUs, t + 6'100 * kUs, t + 6'120 * kUs, t + 9'500 * kUs);
    }
}

TEST(VitalSign, FiguresOfAJobWithGraphs) {
    TraceBuilder trace;
    addJob(trace);
    build(trace);
    EXPECT_EQ(trace.number("SELECT value" + where("capture.attempts_count")), 2);
    EXPECT_EQ(trace.number("SELECT value" + where("replay_gap.p50_ns")), 120 * kUs);
    EXPECT_EQ(trace.number("SELECT value" + where("replay_gap.above_500us_count")), 0);
    EXPECT_EQ(trace.text("SELECT text" + where("replay_gap.cause")), "host_other");
    EXPECT_NEAR(trace.real("SELECT value" + where("gpu_busy.busy_ratio")), 0.936, 1e-6);
    EXPECT_EQ(trace.text("SELECT verdict" + where("gpu_busy.busy_ratio")), "ok");
    EXPECT_NEAR(trace.real("SELECT value" + where("gpu_busy.in_graphs_ratio")), 1, 1e-6);
    EXPECT_NEAR(trace.real("SELECT value" + where("replay_gap.share_ratio")), 0.012, 1e-6);
    EXPECT_EQ(trace.number("SELECT value" + where("memory.peak_bytes")), 1 << 20);
    EXPECT_EQ(trace.number("SELECT value" + where("memory.jump_ratio")), 0);
    EXPECT_EQ(trace.number("SELECT value" + where("graph_reuse.hit_ratio")), 1);
    EXPECT_EQ(trace.number("SELECT value" + where("graph_reuse.replays_count")), 60);
    EXPECT_EQ(trace.number("SELECT value" + where("graph_reuse.captures_after_warmup_count")), 0);
    EXPECT_TRUE(trace.isNull("SELECT value" + where("nccl.in_graph_ratio")));
    EXPECT_EQ(trace.text("SELECT reason" + where("nccl.in_graph_ratio")), "nothing to measure");
}

// Busy for 9 of the 10 ms of a step, but for 2 in some of them.
void addUnevenSteps(TraceBuilder& trace, int every) {
    addSteps(trace, 40, 10 * kMs);
    for (int i = 0; i < 40; ++i) {
        const std::int64_t endNs = (i + 1) * 10 * kMs + 9 * kMs;
        trace.kernel("gemm", endNs - (i % every == every - 1 ? 2 : 9) * kMs, endNs);
    }
}

TEST(VitalSign, OneLateStepIsNoSwing) {
    TraceBuilder trace;
    addUnevenSteps(trace, 20);
    build(trace);
    EXPECT_NEAR(trace.real("SELECT value" + where("gpu_busy.swing_ratio")), 0, 1e-6);
    EXPECT_EQ(trace.text("SELECT verdict" + where("gpu_busy.swing_ratio")), "ok");
}

TEST(VitalSign, ButEveryFifthIs) {
    TraceBuilder trace;
    addUnevenSteps(trace, 5);
    build(trace);
    EXPECT_NEAR(trace.real("SELECT value" + where("gpu_busy.swing_ratio")), 0.7, 1e-6);
    EXPECT_EQ(trace.text("SELECT verdict" + where("gpu_busy.swing_ratio")), "look");
}

TEST(VitalSign, WhatWasNotRecordedIsNotZero) {
    TraceBuilder trace;
    trace.coverage("graph_trace", "absent");
    trace.coverage("memory", "partial");
    addJob(trace);
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT value" + where("replay_gap.p99_ns")));
    EXPECT_EQ(trace.text("SELECT state" + where("replay_gap.p99_ns")), "absent");
    EXPECT_EQ(trace.text("SELECT verdict" + where("replay_gap.p99_ns")), "none");
    EXPECT_EQ(trace.text("SELECT state" + where("memory.peak_bytes")), "partial");
}

TEST(VitalSign, TheJobAddsUpItsProcesses) {
    TraceBuilder trace;
    addJob(trace);
    trace.process(2);
    addJob(trace);
    trace.coverage("graph_trace", "partial");
    build(trace);
    EXPECT_EQ(trace.number("SELECT value" + where("graph_reuse.replays_count", 0)), 120);
    EXPECT_EQ(trace.text("SELECT state" + where("replay_gap.p99_ns", 0)), "partial");
    EXPECT_EQ(trace.text("SELECT state" + where("replay_gap.p99_ns", 1)), "complete");
}

TEST(VitalSign, EachIsDocumented) {
    TraceBuilder trace;
    addJob(trace);
    build(trace);
    std::ifstream file(GD_SOURCE_DIR "/docs/vital-signs.md");
    std::stringstream text;
    text << file.rdbuf();
    auto names = trace.db().prepare("SELECT DISTINCT name FROM vital_sign");
    ASSERT_TRUE(names);
    while (names->step().value())
        EXPECT_NE(text.str().find('`' + std::string(names->text(0)) + '`'), std::string::npos)
            << names->text(0);
}

} // namespace
} // namespace gd::facts
