// SPDX-License-Identifier: Apache-2.0
// The whole product around a job on a made-up CUDA (tests/e2e/made_up_cuda): what CUPTI refuses, what is
// missing, and what a job does to us. The job must not notice, one sentence says what is wrong, and the trace
// tells what it lacks.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>

using namespace gd::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

constexpr int kUnknownError = 999; // CUPTI_ERROR_UNKNOWN

// A job with its variables, recorded.
class MadeUpCuda : public testing::Test {
protected:
    MadeUpCuda() {
        shop.variables["GRAPHDOCTOR_CUPTI"] = GD_MADE_UP_CUPTI;
        shop.variables["LD_LIBRARY_PATH"] = fs::path(GD_MADE_UP_CUDA).parent_path().string();
    }

    ProgramEnd record(
        const std::vector<std::string>& job = {GD_MADE_UP_JOB}, const std::string& level = "standard") {
        std::vector<std::string> command
            = graphdoctor({"run", "--force", "--level", level, "-o", shop.file("x.gdt"), "--"});
        command.insert(command.end(), job.begin(), job.end());
        return shop.run(command);
    }
    // One value of the trace.
    std::string value(const std::string& sql) {
        const ProgramEnd end = shop.run(graphdoctor({"query", shop.file("x.gdt"), sql, "--format", "csv"}));
        EXPECT_EQ(end.status, 0) << end.err;
        std::string text = end.out.substr(std::min(end.out.find('\n') + 1, end.out.size()));
        std::erase_if(text, [](char c) { return c == '"' || c == '\n' || c == '\r'; });
        return text;
    }
    // What the trace says of a source at the end.
    std::string state(const std::string& source) {
        return value(
            "SELECT state FROM coverage WHERE source = '" + source + "' ORDER BY from_ns DESC LIMIT 1");
    }
    bool hasIssue(const std::string& code) {
        return value("SELECT count(*) FROM trace_issue WHERE code = '" + code + "'") != "0";
    }
    void expectUnharmed(const ProgramEnd& end) {
        EXPECT_EQ(end.status, 7) << end.err;
        EXPECT_EQ(end.out, "20 replays\n");
    }

    Workshop shop;
};

// Lines of the collector, not of the report.
std::vector<std::string> ownLines(const std::string& err) {
    std::vector<std::string> lines;
    std::istringstream in(err);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("graphdoctor: "))
            lines.push_back(line);
    }
    return lines;
}

// A report without its line breaks.
std::string unwrapped(const std::string& report) {
    std::istringstream in(report);
    std::string text;
    for (std::string word; in >> word;)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

TEST_F(MadeUpCuda, NothingCallsCuptiAfterItsEnd) {
    shop.variables["GRAPHDOCTOR_POLL_MS"] = "5";
    for (const char* level : {"light", "standard"})
        expectUnharmed(record({GD_MADE_UP_JOB, "level-at-end"}, level));
}

// Graphs launched after a flush, with kernel records on, have faulted on a real device.
TEST_F(MadeUpCuda, CuptiIsNotFlushedBeforeTheFirstLaunch) {
    for (const char* level : {"light", "standard"}) {
        const ProgramEnd end = record({GD_MADE_UP_JOB, "launches-late"}, level);
        EXPECT_THAT(end.out, HasSubstr("0 flushes before the first launch\n")) << level;
        EXPECT_EQ(value("SELECT count(*) FROM replay WHERE start_ns IS NOT NULL"), "20") << "but after it";
    }
}

// Switched on by another thread a little later, a kind may come into the middle of a call.
TEST_F(MadeUpCuda, KindsAreOnBeforeTheJobsFirstCall) {
    for (const auto& [options, kinds] :
        std::map<std::vector<std::string>, std::string>{{{"--level", "light"}, "1"},
            {{"--level", "standard"}, "6"}, {{"--level", "light", "--delay", "1h"}, "0"}}) {
        std::vector<std::string> command = graphdoctor({"run", "--force", "-o", shop.file("x.gdt")});
        command.insert(command.end(), options.begin(), options.end());
        command.insert(command.end(), {"--", GD_MADE_UP_JOB, "tells-kinds"});
        const ProgramEnd end = shop.run(command);
        EXPECT_THAT(end.out, HasSubstr(kinds + " kinds on before the first call\n")) << options[1];
        EXPECT_EQ(value("SELECT count(*) FROM replay WHERE start_ns IS NOT NULL"), kinds == "0" ? "0" : "20");
    }
}

// The session is open and its thread busy while CUPTI is being loaded.
TEST_F(MadeUpCuda, AJobThatUsesNvtxBeforeCudaHasDeviceTimes) {
    shop.variables["GRAPHDOCTOR_POLL_MS"] = "1";
    shop.variables["GD_CUPTI_SUBSCRIBES_MS"] = "300";
    expectUnharmed(record({GD_MADE_UP_JOB, "records-first"}));
    EXPECT_EQ(value("SELECT count(*) FROM replay WHERE start_ns IS NOT NULL"), "20");
    EXPECT_EQ(state("graph_trace"), "complete");
}

// What is made meanwhile is known all the same.
TEST_F(MadeUpCuda, AJobThatIsRecordedOnlyLaterHasDeviceTimes) {
    expectUnharmed(record({GD_MADE_UP_JOB, "off-first"}));
    EXPECT_EQ(value("SELECT count(*) FROM replay WHERE start_ns IS NOT NULL"), "20");
}

TEST_F(MadeUpCuda, IsRecordedLikeARealOne) {
    const ProgramEnd end = record();
    expectUnharmed(end);
    EXPECT_TRUE(ownLines(end.err).empty()) << end.err;
    EXPECT_EQ(value("SELECT count(*) FROM replay WHERE result = 0"), "20");
    EXPECT_EQ(value("SELECT count(*) FROM graph_node WHERE exec_id IS NULL"), "2");
    EXPECT_NE(
        value("SELECT count(*) FROM graph_node JOIN stack_frame USING (stack_id) WHERE exec_id IS NULL AND "
              "type = 'memset' AND module LIKE '%/gd_made_up_job'"),
        "0");
    EXPECT_EQ(state("callbacks"), "complete");
    EXPECT_EQ(state("node_params"), "complete");
    EXPECT_NE(value("SELECT count(*) FROM replay WHERE start_ns IS NOT NULL"), "0");
    EXPECT_EQ(value("SELECT count(*) FROM trace_issue WHERE severity <> 'info'"), "0");
    EXPECT_EQ(value("SELECT name FROM device"), "Made-up GPU");
}

// A function of CUPTI's, what follows from its failing, and what stays.
struct Failing {
    const char* function;
    int result;
    const char* says; // on stderr; "" = nothing
    const char* issue; // "" = none
    const char* source; // whose coverage suffers; "" = none
    const char* replays; // rows that there must be
};

class Refusing : public MadeUpCuda, public testing::WithParamInterface<Failing> { };

TEST_P(Refusing, TheJobIsUnharmedAndTheTraceSaysWhatItLacks) {
    const Failing& failing = GetParam();
    shop.variables["GD_CUPTI_FAILS"] = std::string(failing.function) + "=" + std::to_string(failing.result);
    // Something is switched off only for an executable that could crash under it.
    const bool allocates = std::string_view(failing.function) == "cuptiActivityDisable";
    const ProgramEnd end = record({GD_MADE_UP_JOB, allocates ? "allocates" : "plain"});
    expectUnharmed(end);
    const auto lines = ownLines(end.err);
    if (*failing.says == '\0') {
        EXPECT_TRUE(lines.empty()) << lines[0];
    } else {
        ASSERT_EQ(lines.size(), 1u) << end.err;
        EXPECT_THAT(lines[0], HasSubstr(failing.says));
    }
    EXPECT_EQ(*failing.issue == '\0'
            ? std::string("0")
            : value("SELECT count(*) FROM trace_issue WHERE code = '" + std::string(failing.issue) + "'"),
        *failing.issue == '\0' ? "0" : "1");
    if (*failing.source != '\0') {
        EXPECT_NE(state(failing.source), "complete");
        EXPECT_NE(value("SELECT count(*) FROM coverage WHERE reason <> '' AND source = '"
                      + std::string(failing.source) + "'"),
            "0");
    }
    EXPECT_EQ(value("SELECT count(*) FROM replay"), failing.replays);
    EXPECT_EQ(value("SELECT count(*) FROM graph WHERE graph_id = 0"), "0");
    EXPECT_EQ(value("SELECT count(*) FROM graph_node WHERE node_id = 0"), "0");
}

INSTANTIATE_TEST_SUITE_P(Each, Refusing,
    testing::Values(Failing{"cuptiGetVersion", kUnknownError, "device times are not", "cupti_version",
                        "graph_trace", "20"},
        Failing{"cuptiSubscribe_v2", 39, "another profiler already uses CUPTI", "second_subscriber",
            "callbacks", "0"},
        Failing{"cuptiSubscribe_v2", 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "subscribe_failed",
            "callbacks", "0"},
        Failing{
            "cuptiEnableCallback", kUnknownError, "calls are missing", "callbacks_refused", "callbacks", "0"},
        Failing{"cuptiGetDeviceId", kUnknownError, "", "devices_unknown", "", "20"},
        Failing{"cuptiGetContextId", kUnknownError, "", "streams_unknown", "", "20"},
        Failing{"cuptiGetStreamIdEx", kUnknownError, "", "streams_unknown", "", "20"},
        Failing{
            "cuptiGetGraphId", kUnknownError, "graphs are missing", "graphs_unknown", "node_params", "20"},
        Failing{"cuptiGetGraphNodeId", kUnknownError, "graphs are missing", "graphs_unknown", "node_params",
            "20"},
        Failing{
            "cuptiGetGraphExecId", kUnknownError, "graphs are missing", "graphs_unknown", "callbacks", "20"},
        Failing{"cuptiActivityEnable", kUnknownError, "", "activity_kind_refused", "graph_trace", "20"},
        Failing{"cuptiActivityDisable", kUnknownError, "", "activity_kind_stuck", "", "20"},
        Failing{"cuptiActivityRegisterCallbacks", kUnknownError, "device times are not", "activity_refused",
            "graph_trace", "20"},
        Failing{"cuptiActivityRegisterTimestampCallback", kUnknownError, "device times are not",
            "activity_refused", "graph_trace", "20"},
        Failing{"cuptiActivityGetNextRecord", 7, "", "activity_unreadable", "", "20"},
        Failing{"cuptiActivityGetNumDroppedRecords", kUnknownError, "", "drops_unknown", "", "20"},
        Failing{"cuptiActivityFlushAll", kUnknownError, "", "flush_refused", "", "20"},
        Failing{"cuptiActivitySetAttribute", kUnknownError, "", "", "", "20"},
        Failing{"cuptiGetResultString", kUnknownError, "", "", "", "20"}),
    [](const auto& one) { return std::string(one.param.function) + "_" + std::to_string(one.param.result); });

// CUPTI keeps memory for each record of a node of an executable made under graph-level tracing.
TEST_F(MadeUpCuda, ARunAtLevelFullMakesItsExecutablesWithoutGraphTracing) {
    for (const auto& [options, traceable] :
        std::map<std::vector<std::string>, std::string>{{{"--level", "full"}, "0"},
            {{"--level", "full", "--delay", "1h"}, "0"}, {{"--level", "standard"}, "1"}}) {
        std::vector<std::string> command = graphdoctor({"run", "--force", "-o", shop.file("x.gdt")});
        command.insert(command.end(), options.begin(), options.end());
        command.insert(command.end(), {"--", GD_MADE_UP_JOB, "at-once"});
        expectUnharmed(shop.run(command));
        EXPECT_EQ(value("SELECT group_concat(DISTINCT traceable) FROM graph_exec"), traceable)
            << options.back();
        EXPECT_FALSE(hasIssue("graph_trace_blocked"));
    }
}

// It leaves no stack: the trace says at least whether the collector was at work.
TEST_F(MadeUpCuda, AFaultIsToldFromOneInsideTheCollector) {
    const std::string detail = "SELECT detail FROM trace_issue WHERE code = 'ended_by_fault'";
    shop.variables["GD_CUPTI_FAULTS"] = "cuptiGetGraphExecId"; // of a resource callback
    EXPECT_EQ(record({GD_MADE_UP_JOB, "at-once"}).status, 128 + SIGSEGV);
    EXPECT_THAT(value(detail), HasSubstr("of the job, in resource callback"));
    shop.variables.erase("GD_CUPTI_FAULTS");
    EXPECT_EQ(record({GD_MADE_UP_JOB, "faults"}).status, 128 + SIGSEGV);
    EXPECT_THAT(
        value(detail), AllOf(HasSubstr("signal 11 ended the process while"), Not(HasSubstr("of the job"))));
    expectUnharmed(record());
    EXPECT_FALSE(hasIssue("ended_by_fault"));
}

TEST_F(MadeUpCuda, DropsAreCounted) {
    shop.variables["GD_CUPTI_DROPS"] = "25";
    expectUnharmed(record());
    EXPECT_THAT(
        value("SELECT group_concat(detail) FROM trace_issue WHERE severity = 'data_loss'"), HasSubstr("25"));
}

TEST_F(MadeUpCuda, ANewerCuptiGivesCallsOnly) {
    shop.variables["GD_CUPTI_VERSION"] = "150000";
    expectUnharmed(record());
    EXPECT_TRUE(hasIssue("cupti_version"));
    EXPECT_EQ(value("SELECT count(*) FROM replay WHERE start_ns IS NULL"), "20");
    EXPECT_EQ(state("graph_trace"), "absent");
}

TEST_F(MadeUpCuda, NoLibcupti) {
    shop.variables.erase("GRAPHDOCTOR_CUPTI");
    shop.variables["GD_DRIVER_VERSION"] = "99000";
    const ProgramEnd end = record({GD_MADE_UP_JOB, "linger"});
    expectUnharmed(end);
    ASSERT_EQ(ownLines(end.err).size(), 1u) << end.err;
    EXPECT_THAT(end.err, HasSubstr("no libcupti.so.99 was found"));
    EXPECT_TRUE(hasIssue("no_cupti"));
    EXPECT_EQ(state("callbacks"), "absent");
    EXPECT_EQ(value("SELECT name FROM device"), "Made-up GPU"); // what is there is told
}

TEST_F(MadeUpCuda, ALibcuptiThatIsTooOld) {
    shop.variables["GRAPHDOCTOR_CUPTI"] = GD_MADE_UP_OLD_CUPTI;
    const ProgramEnd end = record();
    expectUnharmed(end);
    ASSERT_EQ(ownLines(end.err).size(), 1u) << end.err;
    EXPECT_THAT(end.err, HasSubstr("is too old"));
    EXPECT_EQ(state("callbacks"), "absent");
}

TEST_F(MadeUpCuda, NoVisibleDevice) {
    const ProgramEnd end = record({"env", "CUDA_VISIBLE_DEVICES=", GD_MADE_UP_JOB});
    EXPECT_EQ(end.status, 5) << end.err;
    EXPECT_EQ(end.out, "cuInit: 100\n");
    EXPECT_TRUE(fs::exists(shop.path("x.gdt")));
}

TEST_F(MadeUpCuda, AJobThatUnsetsOurVariables) {
    for (const char* variable : {"GRAPHDOCTOR_SPOOL", "CUDA_INJECTION64_PATH"}) {
        const ProgramEnd end = record({"env", "-u", variable, GD_MADE_UP_JOB});
        expectUnharmed(end);
        EXPECT_TRUE(hasIssue("no_runtime_seen")) << variable;
    }
}

TEST_F(MadeUpCuda, AJobThatLoadsTheLibraryTwice) {
    const ProgramEnd again = record({GD_MADE_UP_JOB, "load-again"});
    expectUnharmed(again);
    EXPECT_TRUE(ownLines(again.err).empty()) << again.err;
    EXPECT_EQ(value("SELECT count(*) FROM replay"), "20");
    // A copy is a library of its own; it finds CUPTI taken.
    fs::copy_file(GD_COLLECTOR_LIBRARY, shop.path("copy.so"));
    const ProgramEnd copy = record({GD_MADE_UP_JOB, "load-copy", shop.file("copy.so")});
    expectUnharmed(copy);
    EXPECT_EQ(value("SELECT count(*) FROM replay"), "20");
}

TEST_F(MadeUpCuda, ASpoolFolderThatDisappears) {
    const ProgramEnd end = record({GD_MADE_UP_JOB, "remove-spool"});
    expectUnharmed(end);
    EXPECT_THAT(end.err, HasSubstr("graphdoctor")) << "says that there is nothing to report";
}

TEST_F(MadeUpCuda, AMemoryFileSystemOfOneMebibyte) {
    // Its own mount namespace, where that is allowed.
    if (shop.run({"unshare", "-m", "true"}).status != 0)
        GTEST_SKIP() << "no mount namespace of one's own here";
    shop.variables["XDG_RUNTIME_DIR"] = "";
    const ProgramEnd end
        = shop.run({"unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none /dev/shm && exec \"$@\"",
            "sh", GD_GRAPHDOCTOR, "run", "-o", shop.file("x.gdt"), "--", GD_MADE_UP_JOB});
    expectUnharmed(end);
    EXPECT_EQ(value("SELECT count(*) FROM replay"), "20");
    EXPECT_TRUE(hasIssue("ring_place"));
}

// A device that fails in the last of 20 replays, seen by a wait in another function; 200 more calls fail.
TEST_F(MadeUpCuda, ADeviceThatFailsInAReplay) {
    const ProgramEnd end = record({GD_MADE_UP_JOB, "fails", "700"});
    expectUnharmed(end);
    EXPECT_THAT(end.err, HasSubstr("GD210"));
    EXPECT_THAT(unwrapped(end.err),
        HasSubstr("illegal memory access (CUDA_ERROR_ILLEGAL_ADDRESS, 700) in replay 20"));
    EXPECT_EQ(
        value("SELECT in_flight || ' ' || have_times || ' ' || failed_calls FROM device_fault"), "1 0 201");
    EXPECT_EQ(value("SELECT count(*) FROM api_call WHERE result = 700"), "201");
    EXPECT_EQ(value("SELECT count(*) FROM api_call WHERE result = 700 AND stack_id IS NOT NULL"), "64")
        << "the first tell where, the others only that";
    EXPECT_EQ(value("SELECT count(*) FROM stack_frame JOIN device_fault USING (stack_id) WHERE function LIKE "
                    "'%waitForTheAnswer%'"),
        "1");
}

TEST_F(MadeUpCuda, AnAssertionInAReplay) {
    const ProgramEnd end = record({GD_MADE_UP_JOB, "fails", "710"});
    expectUnharmed(end);
    EXPECT_THAT(
        unwrapped(end.err), HasSubstr("assertion failed in a kernel (CUDA_ERROR_ASSERT, 710) in replay 20"));
    EXPECT_THAT(unwrapped(end.err), HasSubstr("the text of the assertion stands in the output of the job"));
}

// One finding, and the cause first.
TEST_F(MadeUpCuda, AReplayThatFailsForItsFreedMemory) {
    const ProgramEnd end = record({GD_MADE_UP_JOB, "fails-freed", "700"});
    expectUnharmed(end);
    EXPECT_EQ(value("SELECT how FROM device_fault"), "stale");
    const std::size_t cause = end.err.find("GD202");
    ASSERT_NE(cause, std::string::npos) << end.err;
    EXPECT_GT(end.err.find("GD210"), cause) << end.err;
    EXPECT_NE(end.err.find("GD210"), std::string::npos) << end.err;
}

TEST_F(MadeUpCuda, ADeviceThatFailsBesideItsGraphs) {
    const ProgramEnd end = record({GD_MADE_UP_JOB, "fails-later", "700"});
    expectUnharmed(end);
    EXPECT_EQ(value("SELECT count(*) FROM device_fault WHERE exec_id IS NULL"), "1");
    EXPECT_THAT(unwrapped(end.err), HasSubstr("No graph was in flight: illegal memory access"));
    EXPECT_THAT(end.err, Not(HasSubstr("in replay")));
}

// What calls return while a process ends, or a poll, or one that asked for too much.
TEST_F(MadeUpCuda, ErrorsThatDoNotStayAreNoFault) {
    for (const char* result : {"1", "2", "4", "600", "704"}) {
        const ProgramEnd end = record({GD_MADE_UP_JOB, "fails", result});
        expectUnharmed(end);
        EXPECT_EQ(value("SELECT count(*) FROM device_fault"), "0") << result;
        EXPECT_THAT(end.err, Not(HasSubstr("GD210"))) << result;
    }
}

} // namespace
