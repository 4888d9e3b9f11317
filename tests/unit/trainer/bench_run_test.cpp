// SPDX-License-Identifier: Apache-2.0
// trainer_bench reads what other programs wrote: logs and reports that lack something are a sentence, not a
// crash.
#include "tests/support/temporary_folder.h"
#include "trainer_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gdt::bench {
namespace {

const Windows kWindows{2, 2, 2};
const std::string kBegin = R"({"event":"begin","tokens_per_step":100})";
const std::string kTimes = R"({"event":"times","first":0,"at":[1,2,3,4,5,6]})";
const std::string kEnd = R"({"event":"end","graphs":{"captures":1,"replays":3,"fallbacks":1}})";

class BenchRun : public ::testing::Test {
protected:
    // A program that prints `text` to the file after `option`.
    std::string program(const std::string& name, const std::string& option, const std::string& text) {
        const std::filesystem::path path = m_folder.path() / name;
        std::ofstream(path) << "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != \"" << option
                            << "\" ]; do shift; done\ncat > \"${2#json=}\" <<'EOF'\n"
                            << text << "\nEOF\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path.string();
    }
    Measured measured(const std::string& log, const std::string& report = "") {
        Programs programs;
        programs.folder = m_folder.path().string();
        programs.trainer = program("trainer", "--log", log);
        programs.graphdoctor = report.empty() ? "" : program("doctor", "--report", report);
        return measure(programs, {}, kWindows, !report.empty());
    }

private:
    gd::test::TemporaryFolder m_folder;
};

TEST_F(BenchRun, ReadsLogAndReport) {
    const Measured result = measured(kBegin + "\n" + kTimes + "\n" + kEnd,
        R"({"vitals":{"gpu_busy.busy_ratio":{"values":[{"value":0.75}]},)"
        R"("gpu_busy.without_nccl_ratio":{"values":[{"value":0.5}]}}})");
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(result.tokensPerSecond.median, 100);
    EXPECT_EQ(result.hitShare, 0.5);
    EXPECT_EQ(result.fellBackShare, 0.25);
    EXPECT_EQ(result.busyShare, 0.75);
    EXPECT_EQ(result.commShare, 0.25);
}

TEST_F(BenchRun, ALogThatLacksSomethingIsNamed) {
    for (const std::string& log : {std::string(), std::string("nonsense"), std::string("[1]\n3\n{}"),
             kBegin + "\n" + kEnd, kTimes + "\n" + kEnd, kBegin + "\n" + kTimes,
             kBegin + "\n" + kTimes + "\n" + R"({"event":"end"})",
             kBegin + "\n" + kTimes + "\n" + R"({"event":"end","graphs":{"captures":1}})",
             kBegin + "\n" + R"({"event":"times","at":["x",null]})" + "\n" + kEnd,
             R"({"event":"begin","tokens_per_step":"many"})"
             "\n" + kTimes
                 + "\n" + kEnd}) {
        const Measured result = measured(log);
        EXPECT_EQ(result.problem.find("the log "), 0U) << result.problem << "\n" << log;
    }
}

TEST_F(BenchRun, AReportWithoutASignLeavesItsShareOut) {
    const std::string log = kBegin + "\n" + kTimes + "\n" + kEnd;
    for (const char* report :
        {"{}", R"({"vitals":{}})", R"({"vitals":{"gpu_busy.busy_ratio":{"values":[]}}})",
            R"({"vitals":{"gpu_busy.busy_ratio":{"values":[{"value":null}]}}})"}) {
        const Measured result = measured(log, report);
        EXPECT_EQ(result.problem, "") << report;
        EXPECT_LT(result.busyShare, 0) << report;
        EXPECT_LT(result.commShare, 0) << report;
    }
    EXPECT_EQ(measured(log, "[]").problem, "recorded run: no report");
    EXPECT_EQ(measured(log, "{").problem, "recorded run: no report");
}

} // namespace
} // namespace gdt::bench
