// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class RepeatedLaunchesTest : public testing::Test {
protected:
    void run(const std::vector<std::int64_t>& launches) {
        trace.capturedGraph(1, 10, 20, {"gemm", "adam_fused"}, "cycle");
        trace.capturedGraph(2, 60, 70, {"norm", "adamw"}, "optimizer");
        std::int64_t at = kMs;
        for (const std::int64_t exec : launches) {
            trace.replay(exec, at, at + 10, at + 20, at + 900 * kUs);
            at += kMs;
        }
        build(trace);
    }
    std::string of(std::int64_t exec) {
        return trace.text(
            "SELECT repeats || ' ' || COALESCE(repeat_ns / 1000000, '-') || ' ' || is_optimizer "
            "FROM exec_reuse WHERE exec_id = "
            + std::to_string(exec));
    }

    TraceBuilder trace;
};

TEST_F(RepeatedLaunchesTest, TwiceInARow) {
    run({1, 2, 1, 2, 2, 1, 2, 2, 1});
    EXPECT_EQ(of(2), "2 5 1");
    EXPECT_EQ(of(1), "0 - 0");
}

TEST_F(RepeatedLaunchesTest, OneAfterTheOther) {
    run({1, 2, 1, 2});
    EXPECT_EQ(of(2), "0 - 1");
}

// The model has no graph yet.
TEST_F(RepeatedLaunchesTest, KernelsInBetweenAreWork) {
    trace.kernel("gemm", 2 * kMs - 5 * kUs, 2 * kMs);
    run({2, 2, 2});
    EXPECT_EQ(of(2), "1 3 1");
}

TEST_F(RepeatedLaunchesTest, WithoutRecordsOfKernelsNothingIsSaid) {
    trace.coverage("eager_kernel_activity", "absent");
    run({2, 2, 2});
    EXPECT_EQ(of(2), "0 - 1");
}

TEST_F(RepeatedLaunchesTest, SeveralMicroBatchesRepeatTheCycle) {
    run({1, 1, 1, 2, 1, 1, 1, 2});
    EXPECT_EQ(of(1), "4 2 0");
    EXPECT_EQ(of(2), "0 - 1");
}

} // namespace
} // namespace gd::facts
