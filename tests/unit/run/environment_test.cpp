// SPDX-License-Identifier: Apache-2.0
#include "cli/run/environment.h"

#include "tests/support/temporary_folder.h"
#include "tests/unit/run/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

using namespace gd::run;
using testing::Contains;
using testing::Pair;

namespace {

EnvironmentWish wish() {
    EnvironmentWish out;
    out.collector = {"/lib/collector.so", true, true, true, false, true};
    out.spool = "/tmp/spool";
    out.host = "here";
    out.level = "light";
    return out;
}

TEST(Environment, SetsWhatTheCollectorServes) {
    const EnvironmentPlan plan = planEnvironment(wish(), gd::test::Variables{});
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_SPOOL", "/tmp/spool")));
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_LEVEL", "light")));
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_TOOL64_PATH", "/lib/collector.so")));
    EXPECT_THAT(plan.set, Contains(Pair("CUDA_INJECTION64_PATH", "/lib/collector.so")));
    EXPECT_THAT(plan.set, testing::Not(Contains(Pair("NCCL_PROFILER_PLUGIN", testing::_))));
    EXPECT_TRUE(plan.kept.empty());
}

TEST(Environment, PutsThePythonEntryFirstAndOnce) {
    EnvironmentWish with = wish();
    with.pythonEntry = "/gd/python";
    with.frameworkHooks = "auto";
    const auto pathAfter = [&](const gd::test::Variables& variables) {
        const EnvironmentPlan plan = planEnvironment(with, variables);
        const auto found = std::find_if(plan.set.begin(), plan.set.end(),
            [](const auto& variable) { return variable.first == "PYTHONPATH"; });
        return found == plan.set.end() ? std::string("unset") : found->second;
    };
    EXPECT_EQ(pathAfter({}), "/gd/python");
    EXPECT_EQ(pathAfter({{{"PYTHONPATH", ""}}}), "/gd/python");
    EXPECT_EQ(pathAfter({{{"PYTHONPATH", "/a:/b"}}}), "/gd/python:/a:/b");
    EXPECT_EQ(pathAfter({{{"PYTHONPATH", "/gd/python:/a"}}}), "/gd/python:/a");
    EXPECT_THAT(planEnvironment(with, gd::test::Variables{}).set,
        Contains(Pair("GRAPHDOCTOR_FRAMEWORK_HOOKS", "auto")));
    with.pythonEntry.clear();
    EXPECT_EQ(pathAfter({{{"PYTHONPATH", "/a"}}}), "unset");
}

TEST(Environment, KeepsVariablesOfAnotherTool) {
    const EnvironmentPlan plan = planEnvironment(wish(),
        gd::test::Variables{
            {{"CUDA_INJECTION64_PATH", "/opt/other.so"}, {"NVTX_INJECTION64_PATH", "/lib/collector.so"}}});
    ASSERT_EQ(plan.kept.size(), 1u);
    EXPECT_EQ(plan.kept[0].name, "CUDA_INJECTION64_PATH");
    EXPECT_EQ(plan.kept[0].value, "/opt/other.so");
    EXPECT_THAT(plan.set, testing::Not(Contains(Pair("CUDA_INJECTION64_PATH", testing::_))));
}

TEST(Environment, ReplacesAndRemovesWhatAnOuterRunSet) {
    setenv("GRAPHDOCTOR_SPOOL", "/outer", 1);
    setenv("GRAPHDOCTOR_STEP_RANGE", "outer", 1);
    const std::vector<std::string> all = environmentWith(planEnvironment(wish(), readVariable));
    EXPECT_EQ(std::count_if(
                  all.begin(), all.end(), [](const auto& v) { return v.starts_with("GRAPHDOCTOR_SPOOL="); }),
        1);
    EXPECT_THAT(all, Contains("GRAPHDOCTOR_SPOOL=/tmp/spool"));
    EXPECT_THAT(all, testing::Not(Contains(testing::StartsWith("GRAPHDOCTOR_STEP_RANGE="))));
    unsetenv("GRAPHDOCTOR_SPOOL");
    unsetenv("GRAPHDOCTOR_STEP_RANGE");
}

TEST(Environment, WindowsReachTheCollector) {
    EnvironmentWish asked = wish();
    asked.windows = "steps=1:2";
    asked.windowRange = R"(^epoch \d)";
    asked.limits = "size=4000000000,keep_ns=60000000000";
    asked.stepRange = R"(^step \d+)";
    const EnvironmentPlan plan = planEnvironment(asked, gd::test::Variables{});
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_WINDOW", "steps=1:2")));
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_LIMITS", asked.limits)));
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_WINDOW_RANGE", "^epoch [0-9]")));
    EXPECT_THAT(plan.set, Contains(Pair("GRAPHDOCTOR_STEP_RANGE", "^step [0-9]+")));
    EXPECT_THAT(planEnvironment(wish(), gd::test::Variables{}).unset, Contains("GRAPHDOCTOR_WINDOW"));
}

TEST(Environment, WritesPatternsOutForPosix) {
    EXPECT_EQ(posixPattern(R"(^(?:step|iter)\.[\d_]+\[(?)"), R"(^(step|iter)\.[0-9_]+\[(?)");
    EXPECT_EQ(posixPattern(""), "");
}

TEST(Environment, ReadsWhatALibraryOffersFromItsNames) {
    const gd::test::TemporaryFolder folder;
    const auto path = folder.path() / "lib.so";
    const char names[] = "\0InitializeInjectionNvtx2\0graphdoctor_runtime_attach\0ncclProfiler_v5\0";
    std::ofstream(path, std::ios::binary).write(names, sizeof names);
    const CollectorLibrary library = inspectCollector(path.string());
    EXPECT_TRUE(library.exists);
    EXPECT_FALSE(library.cudaInjection); // only a longer name begins like it
    EXPECT_TRUE(library.nvtxInjection);
    EXPECT_TRUE(library.runtimeTable);
    EXPECT_TRUE(library.ncclPlugin);
    EXPECT_FALSE(inspectCollector((folder.path() / "missing").string()).exists);
}

TEST(Environment, QuotesForAShell) {
    EXPECT_EQ(shellWord("plain/path-1.gdt"), "plain/path-1.gdt");
    EXPECT_EQ(shellWord("it's $HOME"), "'it'\\''s $HOME'");
    EXPECT_EQ(shellWord(""), "''");
    EXPECT_EQ(shellCommand({"a", "b c"}), "a 'b c'");
}

} // namespace
