// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/python_frames.h"

#include <gtest/gtest.h>

namespace {

using gd::stacks::parseTracebackLine;
using gd::stacks::PythonFrame;

TEST(PythonDump, ReadsFileLineAndFunction) {
    PythonFrame frame;
    ASSERT_TRUE(parseTracebackLine("  File \"/job/train.py\", line 133 in forward", frame));
    EXPECT_EQ(frame.file, "/job/train.py");
    EXPECT_EQ(frame.line, 133U);
    EXPECT_EQ(frame.function, "forward");
}

TEST(PythonDump, ReadsNamesThatLookLikeTheFormat) {
    PythonFrame frame;
    ASSERT_TRUE(parseTracebackLine("  File \"a\", line 3 in b\", line 7 in <listcomp>", frame));
    EXPECT_EQ(frame.file, "a\", line 3 in b");
    EXPECT_EQ(frame.line, 7U);
    EXPECT_EQ(frame.function, "<listcomp>");
}

TEST(PythonDump, TakesAnUnknownLineAsZero) {
    PythonFrame frame;
    ASSERT_TRUE(parseTracebackLine("  File \"x.py\", line ??? in f", frame));
    EXPECT_EQ(frame.line, 0U);
    EXPECT_EQ(frame.function, "f");
}

TEST(PythonDump, PassesOverOtherLines) {
    PythonFrame frame;
    EXPECT_FALSE(parseTracebackLine("Stack (most recent call first):", frame));
    EXPECT_FALSE(parseTracebackLine("  ...", frame));
    EXPECT_FALSE(parseTracebackLine("  File \"cut", frame));
    EXPECT_FALSE(parseTracebackLine("", frame));
}

TEST(PythonFrames, AreNoneWithoutPython) {
    gd::stacks::refreshPythonRuntime();
    EXPECT_EQ(gd::stacks::walkPythonFrames([](void*, const PythonFrame&) {}, nullptr, 64), 0U);
}

} // namespace
