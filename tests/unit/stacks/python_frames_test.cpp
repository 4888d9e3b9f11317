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

// With a sub-interpreter in the process PyGILState_Check says yes in every thread. Without the GIL none of
// the other functions may be called: the first one would read the missing thread state.
TEST(PythonFrames, AreNotAskedForInAThreadWithoutTheGilBesideASubInterpreter) {
    static int state = 0;
    static void* current = nullptr;
    static bool isAsked = false;
    gd::stacks::PythonRuntime runtime;
    runtime.holdsGil = [] { return 1; };
    runtime.thisThreadState = [] { return static_cast<void*>(&state); };
    runtime.currentThreadState = [] { return current; };
    runtime.fetchError = [](void**, void**, void**) { isAsked = true; };
    runtime.restoreError = [](void*, void*, void*) {};
    runtime.clearError = [] {};
    runtime.currentFrame = []() -> void* { return nullptr; };
    runtime.frameBack = [](void*) -> void* { return nullptr; };
    runtime.frameCode = [](void*) -> void* { return nullptr; };
    runtime.frameLine = [](void*) { return 0; };
    runtime.getAttribute = [](void*, const char*) -> void* { return nullptr; };
    runtime.asUtf8 = [](void*) -> const char* { return nullptr; };
    runtime.release = [](void*) {};
    const auto walk = [&runtime] {
        isAsked = false;
        gd::stacks::walkByPublicInterface(
            runtime, [](void*, const PythonFrame&) {}, nullptr, 64);
        return isAsked;
    };
    EXPECT_FALSE(walk()) << "nobody holds it";
    current = &current;
    EXPECT_FALSE(walk()) << "another thread state holds it";
    current = &state;
    EXPECT_TRUE(walk());
}

TEST(PythonFrames, AreNoneWithoutPython) {
    gd::stacks::refreshPythonRuntime();
    EXPECT_EQ(gd::stacks::walkPythonFrames([](void*, const PythonFrame&) {}, nullptr, 64), 0U);
}

} // namespace
