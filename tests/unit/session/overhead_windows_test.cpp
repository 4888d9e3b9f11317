// SPDX-License-Identifier: Apache-2.0
#include "collector/session/overhead_windows.h"

#include <gtest/gtest.h>

#include <vector>

namespace gd::session {

namespace {

// A job that the collector looks at every 50 ms.
struct Looked {
    OverheadWindows windows;
    OverheadWindows::Job job{0, 0, false, {}};
    std::int64_t nowNs = 1'000'000'000;
    std::uint64_t replays = 7; ///< between two looks
    std::vector<std::int64_t> switches; ///< times at which it changed
    bool isOff = false;

    explicit Looked(const char* text) { windows.open(text); }
    void run(std::int64_t ns, bool replaying = true) {
        for (const std::int64_t endNs = nowNs + ns; nowNs < endNs; nowNs += 50'000'000) {
            job.replays += replaying ? replays : 0;
            const bool off = windows.pauses(nowNs, job);
            if (off != isOff) {
                switches.push_back(nowNs);
            }
            isOff = off;
        }
    }
};

constexpr std::int64_t kSecond = 1'000'000'000;

} // namespace

TEST(OverheadWindows, AreFiveEarlyInTheRun) {
    Looked looked("2000000000");
    looked.run(600 * kSecond);
    ASSERT_EQ(looked.switches.size(), 10U);
    EXPECT_EQ(looked.switches[0], 61 * kSecond);
    for (std::size_t i = 0; i + 1 < looked.switches.size(); ++i) {
        EXPECT_EQ(looked.switches[i + 1] - looked.switches[i], (i % 2 == 0 ? 2 : 8) * kSecond);
    }
    EXPECT_FALSE(looked.isOff);
    EXPECT_EQ(looked.windows.barredBy(), nullptr);
}

TEST(OverheadWindows, AreLongerWhereReplaysAreRare) {
    Looked looked("200000000");
    looked.replays = 1; // 16 take 800 ms
    looked.run(600 * kSecond);
    ASSERT_EQ(looked.switches.size(), 10U);
    EXPECT_EQ(looked.switches[1] - looked.switches[0], 800'000'000);
    Looked rare("100000000");
    rare.replays = 1; // no time for so many
    rare.run(600 * kSecond);
    ASSERT_EQ(rare.switches.size(), 10U);
    EXPECT_EQ(rare.switches[1] - rare.switches[0], 500'000'000);
}

TEST(OverheadWindows, DoNotBeginWithoutReplaysNorWhileGraphsAreMade) {
    Looked looked("2000000000");
    looked.run(600 * kSecond, false);
    EXPECT_TRUE(looked.switches.empty()) << "never a replay";
    for (int i = 0; i < 100; ++i) {
        ++looked.job.execs;
        looked.run(3 * kSecond);
    }
    EXPECT_TRUE(looked.switches.empty()) << "a new executable every three seconds";
    looked.run(60 * kSecond, false);
    EXPECT_TRUE(looked.switches.empty()) << "nothing is replayed now";
    looked.run(60 * kSecond);
    EXPECT_EQ(looked.switches.size(), 10U);
}

TEST(OverheadWindows, ACaptureEndsAStretchAtOnce) {
    Looked looked("2000000000");
    looked.run(61 * kSecond);
    ASSERT_TRUE(looked.isOff);
    looked.job.isCapturing = true;
    looked.run(kSecond / 20);
    EXPECT_FALSE(looked.isOff);
    looked.job.isCapturing = false;
    looked.run(600 * kSecond);
    EXPECT_EQ(looked.switches.size(), 2U + 10U) << "that one did not count";
}

TEST(OverheadWindows, GiveUpWhereNothingMayBeSwitched) {
    Looked looked("2000000000");
    looked.run(72 * kSecond);
    ASSERT_TRUE(looked.isOff);
    looked.job.bar = {"a communicator", true};
    looked.run(kSecond);
    EXPECT_FALSE(looked.isOff);
    EXPECT_STREQ(looked.windows.barredBy(), "a communicator");
    looked.job.bar = {};
    looked.run(600 * kSecond);
    EXPECT_EQ(looked.switches.size(), 4U) << "never again";
    EXPECT_STREQ(looked.windows.barredBy(), "a communicator");
}

TEST(OverheadWindows, GoOnWhenWhatBarredThemIsGone) {
    Looked looked("2000000000");
    looked.run(61 * kSecond);
    ASSERT_TRUE(looked.isOff);
    looked.job.bar = {"an executable", false};
    looked.run(60 * kSecond);
    EXPECT_FALSE(looked.isOff);
    EXPECT_STREQ(looked.windows.barredBy(), "an executable");
    looked.job.bar = {};
    looked.run(600 * kSecond);
    EXPECT_EQ(looked.windows.barredBy(), nullptr);
    EXPECT_EQ(looked.switches.size(), 2U + 10U) << "the one cut short does not count";
}

TEST(OverheadWindows, WithoutALengthThereAreNone) {
    for (const char* text : {static_cast<const char*>(nullptr), "", "auto", "-5", "99999999999999999"}) {
        Looked looked(text);
        looked.run(200 * kSecond);
        EXPECT_TRUE(looked.switches.empty());
        EXPECT_EQ(looked.windows.barredBy(), nullptr);
    }
}

} // namespace gd::session
