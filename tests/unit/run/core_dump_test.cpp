// SPDX-License-Identifier: Apache-2.0
#include "cli/run/core_dump.h"

#include <gtest/gtest.h>

#include <csignal>

namespace gd::run {
namespace {

TEST(CoreDump, SaysWhyThereIsNone) {
    EXPECT_EQ(coreClause(false, 0, "core"), "no core was written (ulimit -c is 0)");
    EXPECT_EQ(coreClause(false, 1, "core"), "no core was written (core_pattern core)");
    EXPECT_EQ(coreClause(false, 0, "|/bin/takes"), "no core was written (core_pattern |/bin/takes)");
    EXPECT_EQ(coreClause(false, 1, ""), "no core was written (core_pattern is empty)");
}

TEST(CoreDump, SaysWhereOneIs) {
    EXPECT_EQ(coreClause(true, 0, "|/bin/takes"), "a core was written (core_pattern |/bin/takes)");
}

TEST(CoreDump, ThereIsNothingToSayOfOtherSignals) {
    EXPECT_EQ(coreClause(SIGKILL, false), "");
    EXPECT_NE(coreClause(SIGSEGV, false), "");
    EXPECT_NE(coreClause(SIGABRT, false), "");
}

} // namespace
} // namespace gd::run
