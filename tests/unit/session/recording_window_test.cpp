// SPDX-License-Identifier: Apache-2.0
#include "collector/session/recording_window.h"

#include "collector/raw/records_coverage.h"
#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "tests/unit/session/session_test_support.h"

#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;
using testing::ElementsAre;

RecordingWindow windowOf(const char* text, std::int64_t originNs = 0) {
    RecordingWindow window;
    window.open(text, originNs);
    return window;
}

void range(gd_rt_range_op op, const char* name) {
    gd_rt_range record{};
    record.size = sizeof record;
    record.op = op;
    record.name = name;
    sink::range(record);
}

bool reaches(raw::RecordingLevel level) {
    return eventually([level] { return sink::level() == level; });
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> statesOf(const SpoolBuilder& spool) {
    const RawSpool raw = read(spool);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> states;
    for (const raw::ControlState& state : raw.historyOf<raw::ControlState>()) {
        states.emplace_back(state.level, state.window);
    }
    return states;
}

constexpr std::uint32_t kHistory = 1;
constexpr std::uint32_t kStandard = 3;

} // namespace

TEST(RecordingWindow, WithoutATextEverythingIsInside) {
    for (const char* text : {static_cast<const char*>(nullptr), "", "nonsense", "steps=x"}) {
        EXPECT_FALSE(windowOf(text).isSet());
        EXPECT_TRUE(windowOf(text).holds(123, 7));
    }
}

TEST(RecordingWindow, TimesCountFromTheirOrigin) {
    const RecordingWindow both = windowOf("delay=100,duration=50", 1000);
    EXPECT_FALSE(both.holds(1099, 0));
    EXPECT_TRUE(both.holds(1100, 0));
    EXPECT_TRUE(both.holds(1149, 0));
    EXPECT_FALSE(both.holds(1150, 0));
    EXPECT_TRUE(windowOf("duration=50", 1000).holds(1000, 0));
    EXPECT_TRUE(windowOf("delay=50", 1000).holds(INT64_MAX - 1, 0));
    EXPECT_FALSE(windowOf("delay=18446744073709551615", 1000).holds(INT64_MAX - 1, 0)) << "no overflow";
}

TEST(RecordingWindow, StepsAreInclusiveAndTurnBetweenSteps) {
    const RecordingWindow window = windowOf("steps=2:4");
    EXPECT_FALSE(window.holds(0, 1));
    EXPECT_TRUE(window.holds(0, 2)) << "step 2 is the next one";
    EXPECT_TRUE(window.holds(0, 4));
    EXPECT_FALSE(window.holds(0, 5));
    EXPECT_TRUE(window.turnsAt(2));
    EXPECT_FALSE(window.turnsAt(3));
    EXPECT_TRUE(window.turnsAt(5));
    EXPECT_TRUE(windowOf("steps=2").holds(0, 1'000'000));
}

TEST(RecordingWindow, StepRangesOpenAndCloseIt) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    spool.setVariable("GRAPHDOCTOR_STEP_RANGE", "^mine");
    spool.setVariable("GRAPHDOCTOR_WINDOW", "steps=1:2");
    ASSERT_EQ(spool.run([] {
        const auto step = [] {
            range(GD_RT_RANGE_PUSH, "mine 1");
            range(GD_RT_RANGE_PUSH, "mine inside");
            range(GD_RT_RANGE_POP, nullptr);
            range(GD_RT_RANGE_PUSH, "other");
            range(GD_RT_RANGE_POP, nullptr);
            range(GD_RT_RANGE_POP, nullptr);
        };
        step();
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(1);
        }
        step();
        if (sink::level() != raw::RecordingLevel::Standard) {
            _exit(2);
        }
        step();
        if (!reaches(raw::RecordingLevel::History)) {
            _exit(3);
        }
        step();
    }),
        0);
    EXPECT_THAT(statesOf(spool),
        ElementsAre(std::pair(kHistory, 0u), std::pair(kStandard, 1u), std::pair(kHistory, 1u)));
}

TEST(RecordingWindow, TimeOpensItAndCtlOverridesIt) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    spool.setVariable("GRAPHDOCTOR_WINDOW", "delay=500000000,duration=3600000000000");
    ASSERT_EQ(spool.run([&spool] {
        range(GD_RT_RANGE_MARK, "first"); // at level history, as the states below say
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(1);
        }
        spool.stopByHand();
        if (!reaches(raw::RecordingLevel::History)) {
            _exit(2);
        }
    }),
        0);
    EXPECT_THAT(statesOf(spool),
        ElementsAre(std::pair(kHistory, 0u), std::pair(kStandard, 1u), std::pair(kHistory, 1u)));
}

TEST(RecordingWindow, AHandThatStartsOpensAClosedWindow) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    spool.setVariable("GRAPHDOCTOR_WINDOW", "delay=3600000000000");
    ASSERT_EQ(spool.run([&spool] {
        range(GD_RT_RANGE_MARK, "first");
        if (sink::level() != raw::RecordingLevel::History) {
            _exit(1);
        }
        spool.startByHand();
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(2);
        }
    }),
        0);
}

// Window of ranges: what the children below do is judged by the levels that came into force.
class RangeWindow : public testing::Test {
protected:
    RangeWindow() {
        m_spool.setLevel(raw::RecordingLevel::Standard);
        m_spool.setVariable("GRAPHDOCTOR_WINDOW", "range");
        m_spool.setVariable("GRAPHDOCTOR_WINDOW_RANGE", "^mine");
    }
    /// How often the level rose to standard.
    std::size_t openings() const {
        std::size_t count = 0;
        for (const auto& [level, window] : statesOf(m_spool)) {
            count += level == kStandard ? 1 : 0;
        }
        return count;
    }
    SpoolBuilder m_spool;
};

TEST_F(RangeWindow, IsOpenAsLongAsARangeIs) {
    ASSERT_EQ(m_spool.run([] {
        range(GD_RT_RANGE_PUSH, "other");
        if (sink::level() != raw::RecordingLevel::History) {
            _exit(1);
        }
        range(GD_RT_RANGE_PUSH, "mine outer");
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(2);
        }
        range(GD_RT_RANGE_PUSH, "mine inner");
        range(GD_RT_RANGE_POP, nullptr);
        const timespec pause{0, 200'000'000}; // four looks of the collector's thread
        nanosleep(&pause, nullptr);
        if (sink::level() != raw::RecordingLevel::Standard) {
            _exit(3);
        }
        range(GD_RT_RANGE_POP, nullptr);
        if (!reaches(raw::RecordingLevel::History)) {
            _exit(4);
        }
    }),
        0);
    EXPECT_THAT(statesOf(m_spool),
        ElementsAre(std::pair(kHistory, 0u), std::pair(kStandard, 1u), std::pair(kHistory, 1u)));
}

TEST_F(RangeWindow, AnyThreadHoldsItAndAThreadThatEndsLetsGo) {
    ASSERT_EQ(m_spool.run([] {
        range(GD_RT_RANGE_PUSH, "mine 1");
        std::thread([] { range(GD_RT_RANGE_PUSH, "mine 2"); }).join(); // never popped
        std::thread([] {
            range(GD_RT_RANGE_PUSH, "mine 3");
            if (!reaches(raw::RecordingLevel::Standard)) {
                _exit(1);
            }
            range(GD_RT_RANGE_POP, nullptr);
        }).join();
        range(GD_RT_RANGE_POP, nullptr);
        if (!reaches(raw::RecordingLevel::History)) {
            _exit(2);
        }
    }),
        0);
    EXPECT_EQ(openings(), 1u);
}

TEST_F(RangeWindow, RangesOfNoThreadCountByTheirId) {
    ASSERT_EQ(m_spool.run([] {
        const auto unbound = [](gd_rt_range_op op, const char* name, std::uint64_t id) {
            gd_rt_range record{};
            record.size = sizeof record;
            record.op = op;
            record.name = name;
            record.u64 = id;
            sink::range(record);
        };
        unbound(GD_RT_RANGE_START, "mine", 7);
        unbound(GD_RT_RANGE_START, "other", 8);
        unbound(GD_RT_RANGE_END, nullptr, 8);
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(1);
        }
        std::thread([unbound] { unbound(GD_RT_RANGE_END, nullptr, 7); }).join();
        if (!reaches(raw::RecordingLevel::History)) {
            _exit(2);
        }
    }),
        0);
    EXPECT_EQ(openings(), 1u);
}

// Where the machine keeps the job from running for longer than the collector takes from one look to the next,
// the window may close: how often, the job says with its status.
TEST_F(RangeWindow, ThousandsASecondAreOneWindow) {
    constexpr int kFailed = 255;
    const int status = m_spool.run([] {
        constexpr std::int64_t kBetweenLooksNs = 50'000'000;
        int pauses = 0;
        const std::int64_t endNs = monotonicNs() + 600'000'000;
        for (std::int64_t lastNs = monotonicNs(), nowNs = lastNs; nowNs < endNs; lastNs = nowNs) {
            nowNs = monotonicNs();
            range(GD_RT_RANGE_PUSH, "mine");
            pauses += monotonicNs() - lastNs >= kBetweenLooksNs ? 1 : 0;
            range(GD_RT_RANGE_POP, nullptr);
            const timespec pause{0, 100'000};
            nanosleep(&pause, nullptr);
        }
        _exit(reaches(raw::RecordingLevel::History) && pauses < kFailed ? pauses : kFailed);
    });
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), kFailed);
    EXPECT_GE(openings(), 1u);
    EXPECT_LE(openings(), 1u + static_cast<unsigned>(WEXITSTATUS(status)));
}

TEST_F(RangeWindow, ARangeThatIsNeverClosedIsRecordedToTheEnd) {
    ASSERT_EQ(m_spool.run([] {
        range(GD_RT_RANGE_PUSH, "mine");
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(1);
        }
    }),
        0);
    EXPECT_EQ(openings(), 1u);
}

TEST_F(RangeWindow, WhatIsAskedByHandComesFirst) {
    m_spool.startByHand();
    ASSERT_EQ(m_spool.run([] {
        range(GD_RT_RANGE_PUSH, "other");
        if (!reaches(raw::RecordingLevel::Standard)) {
            _exit(1);
        }
    }),
        0);
}

} // namespace gd::session
