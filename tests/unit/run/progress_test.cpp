// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

using gd::cli::Progress;
using namespace std::chrono_literals;

namespace {

TEST(Progress, TellsShareRateAndTimeLeft) {
    EXPECT_EQ(Progress::line("importing", 256 << 20, 1024 << 20, 2s),
        "importing: 256 MiB of 1.00 GiB (25 %), 128 MiB/s, 6.00 s left");
}

TEST(Progress, KnowsNothingAtTheStart) {
    EXPECT_EQ(Progress::line("importing", 0, 0, 0s), "importing: 0 B of 0 B (0 %), 0 B/s");
}

TEST(Progress, NeverTellsMoreThanAll) {
    EXPECT_EQ(Progress::line("importing", 2048, 1024, 1s),
        "importing: 2.00 KiB of 1.00 KiB (100 %), 2.00 KiB/s, 0 ns left");
}

} // namespace
