// SPDX-License-Identifier: Apache-2.0
#include "collector/session/name_pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace gd::session {

namespace {

TEST(NamePattern, StaysRightBeyondTheNamesItKeeps) {
    NamePattern pattern;
    pattern.open("^step [0-9]*7$", nullptr);
    for (raw::StringRef name = 1; name <= 70'000; ++name) {
        const std::string text = "step " + std::to_string(name);
        EXPECT_EQ(pattern.matches(name, text.c_str()), name % 10 == 7) << text;
    }
    EXPECT_TRUE(pattern.matches(7, "step 7"));
    EXPECT_TRUE(pattern.matches(69'997, "step 69997"));
    EXPECT_FALSE(pattern.matches(69'998, "step 69998"));
}

TEST(NamePattern, TakesTheFallbackForAPatternThatCannotBeRead) {
    NamePattern pattern;
    pattern.open("(", "^epoch$");
    EXPECT_TRUE(pattern.matches(1, "epoch"));
    EXPECT_FALSE(pattern.matches(2, "epochs"));
    EXPECT_FALSE(pattern.matches(0, "epoch"));
}

} // namespace

} // namespace gd::session
