// SPDX-License-Identifier: Apache-2.0
#include "gui/model/details.h"
#include "gui/model/time_scale.h"
#include "gui/model/view_state.h"

#include <gtest/gtest.h>

using namespace gd::gui;

TEST(TimeScale, PixelsTileTimeWithoutHolesAtEveryZoom) {
    for (const double nsPerPx : {0.05, 0.3, 1.0, 1.7, 999.9, 1e6 / 3, 2e10}) {
        const TimeScale scale{123'456'789'012, nsPerPx};
        for (int x = 0; x < 4000; ++x)
            ASSERT_LE(scale.nsAt(x), scale.nsAt(x + 1));
        EXPECT_EQ(scale.nsAt(0), 123'456'789'012);
    }
}

TEST(TimeScale, NsAtAndXAtAreInverse) {
    const std::int64_t tenHours = 36'000'000'000'000;
    for (const double nsPerPx : {1.0, 250.0, 1e4, 3.3e9}) {
        const TimeScale scale{tenHours, nsPerPx};
        for (const double x : {0.0, 1.0, 960.0, 3839.0})
            EXPECT_NEAR(scale.xAt(scale.nsAt(x)), x, 1.0);
    }
}

TEST(TimeScale, ZoomKeepsTheTimeUnderTheCursor) {
    TimeScale scale{1'000'000, 500};
    const std::int64_t under = scale.nsAt(700);
    for (int i = 0; i < 40; ++i) {
        scale = scale.zoomed(0.8, 700);
        ASSERT_NEAR(static_cast<double>(scale.nsAt(700)), static_cast<double>(under), 1 + scale.nsPerPx + i);
    }
    EXPECT_GE(scale.nsPerPx, TimeScale::kMinNsPerPx);
}

TEST(TimeScale, FitShowsTheWholeIntervalWithItsMargin) {
    const TimeScale scale = TimeScale::fit(5'000, 25'000, 1000, 0.25);
    EXPECT_NEAR(scale.xAt(5'000), 250, 1);
    EXPECT_NEAR(scale.xAt(25'000), 750, 1);
    const TimeScale point = TimeScale::fit(5'000, 5'000, 1000, 0.25);
    EXPECT_GE(point.nsPerPx, TimeScale::kMinNsPerPx);
    EXPECT_NEAR(point.xAt(5'000), 500, 11);
}

TEST(ZoomHistory, GoesBackInOrderAndIgnoresRepeats) {
    ZoomHistory history;
    EXPECT_FALSE(history.back());
    history.push({1, 1});
    history.push({1, 1});
    history.push({2, 1});
    EXPECT_EQ(history.back()->startNs, 2);
    EXPECT_EQ(history.back()->startNs, 1);
    EXPECT_TRUE(history.empty());
}

TEST(FormatTime, HasAdaptiveUnitsAndTheDigitsThatAreNeeded) {
    EXPECT_EQ(formatTime(2'013'400'000, 1'000'000), "2.013 s");
    EXPECT_EQ(formatTime(13'400'000, 1'000'000), "13 ms");
    EXPECT_EQ(formatTime(13'400'000, 100'000), "13.4 ms");
    EXPECT_EQ(formatTime(999, 1), "999 ns");
    EXPECT_EQ(formatTime(0, 1), "0 ns");
    EXPECT_EQ(exactDuration(1'250'000), "1.25 ms (1250000 ns)");
    EXPECT_EQ(exactDuration(12), "12 ns");
}
