// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

// A capture of 1 ms every 10 ms on thread 1; another thread frees memory twenty times a second or so.
class CaptureRiskTest : public testing::Test {
protected:
    void captures(const std::string& mode = "global") {
        for (std::int64_t i = 0; i < 5; ++i)
            trace.capture((10 + 10 * i) * kMs,
                {.id = i + 1, .graph = i + 1, .mode = mode, .endNs = (10 + 10 * i) * kMs + kMs});
    }
    void calls(gd_api_id api = GD_API_MEM_FREE, std::int64_t thread = 2) {
        for (std::int64_t i = 0; i <= 20; ++i)
            trace.call(thread, api, (5 + 5 * i) * kMs, (5 + 5 * i) * kMs + 10);
    }
    std::int64_t rows() {
        build(trace);
        return trace.number("SELECT count(*) FROM capture_risk");
    }

    TraceBuilder trace{200 * kMs};
};

TEST_F(CaptureRiskTest, AThreadThatWillHitACaptureSomeDay) {
    captures();
    calls();
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.text("SELECT api || ' ' || runtime_api || ' ' || thread FROM capture_risk"),
        "cuMemFree cudaFree worker");
    EXPECT_EQ(trace.number("SELECT calls FROM capture_risk"), 21);
    EXPECT_DOUBLE_EQ(trace.real("SELECT rate_per_s FROM capture_risk"), 200);
    EXPECT_EQ(trace.number("SELECT mean_open_ns FROM capture_risk"), kMs);
    EXPECT_DOUBLE_EQ(trace.real("SELECT expected FROM capture_risk"), 0.2);
    EXPECT_EQ(trace.number("SELECT captures FROM capture_risk"), 5);
    EXPECT_EQ(trace.number("SELECT tenths FROM capture_risk"), 10);
}

TEST_F(CaptureRiskTest, NotTheThreadOfPyTorchsBackwardPasses) {
    captures();
    calls(GD_API_MEM_ALLOC);
    trace.sql("UPDATE thread SET name = 'pt_autograd_0' WHERE thread_id = 2");
    EXPECT_EQ(rows(), 0);
}

TEST_F(CaptureRiskTest, NotAThreadThatOnlyWorksWhileTheCapturingOneWaitsForIt) {
    captures();
    calls();
    for (std::int64_t i = 0; i <= 20; ++i)
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, (5 + 5 * i) * kMs - 50 * kUs, (5 + 5 * i) * kMs + 50 * kUs);
    EXPECT_EQ(rows(), 0);
}

TEST_F(CaptureRiskTest, AThreadWhoseCallsFallIntoWaitsBecauseThereIsHardlyAnythingElse) {
    captures();
    calls();
    for (std::int64_t i = 0; i <= 20; ++i)
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, (5 + 5 * i) * kMs - 4 * kMs, (5 + 5 * i) * kMs + 900 * kUs);
    EXPECT_EQ(rows(), 1);
}

TEST_F(CaptureRiskTest, AThreadThatIsOnceOutsideOfThem) {
    captures();
    calls();
    for (std::int64_t i = 0; i < 20; ++i)
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, (5 + 5 * i) * kMs - 50 * kUs, (5 + 5 * i) * kMs + 50 * kUs);
    EXPECT_EQ(rows(), 1);
}

TEST_F(CaptureRiskTest, ABurstIsSmallBesideWhatTheThreadDoesLater) {
    captures();
    calls();
    trace.call(2, GD_API_MEMCPY_HTOD_ASYNC, 905 * kMs, 906 * kMs);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.number("SELECT tenths FROM capture_risk"), 2);
}

TEST_F(CaptureRiskTest, NotInOtherModes) {
    captures("thread_local");
    calls();
    EXPECT_EQ(rows(), 0);
}

TEST_F(CaptureRiskTest, NotTheCapturingThreadNorLegalCalls) {
    captures();
    calls(GD_API_MEM_FREE, 1);
    calls(GD_API_MEMCPY_HTOD_ASYNC, 2);
    EXPECT_EQ(rows(), 0);
}

TEST_F(CaptureRiskTest, NotAThreadThatExchangedItsMode) {
    captures();
    calls();
    trace.sql("INSERT INTO thread_capture_mode VALUES (1, 2, 1, 'relaxed', 'global')");
    EXPECT_EQ(rows(), 0);
}

TEST_F(CaptureRiskTest, ACaptureWhoseEndHasNoTimeDoesNotCount) {
    captures();
    calls();
    trace.sql("UPDATE capture SET end_ns = NULL WHERE capture_id = 3");
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.number("SELECT captures FROM capture_risk"), 4);
    EXPECT_EQ(trace.number("SELECT mean_open_ns FROM capture_risk"), kMs);
}

TEST_F(CaptureRiskTest, NotOnceTheCapturesAreOver) {
    captures();
    for (std::int64_t i = 0; i <= 20; ++i)
        trace.call(2, GD_API_MEM_FREE, (100 + i) * kMs, (100 + i) * kMs + 10);
    EXPECT_EQ(rows(), 0);
}

} // namespace
} // namespace gd::facts
