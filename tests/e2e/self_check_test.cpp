// SPDX-License-Identifier: Apache-2.0
// graphdoctor run --self-check, and graphdoctor env, which calls it.
#include "tests/e2e/program.h"

#ifdef GD_REFUSING_CUDA
#include "cli/self_check/cuda_job.h"
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

using namespace gd::test;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Line {
    std::string state;
    std::string detail;
};

// source -> what is said of it.
std::map<std::string, Line> linesOf(const std::string& out) {
    std::map<std::string, Line> lines;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) {
        if (line.size() < 27 || line[0] == ' ' || line.ends_with("."))
            continue;
        const auto trimmed = [](std::string text) { return text.substr(0, text.find_last_not_of(' ') + 1); };
        lines[trimmed(line.substr(0, 19))] = {trimmed(line.substr(19, 8)), line.substr(27)};
    }
    return lines;
}

class SelfCheck : public testing::Test {
protected:
    ProgramEnd check(const std::vector<std::string>& more = {}) {
        std::vector<std::string> command = graphdoctor({"run", "--self-check"});
        command.insert(command.end(), more.begin(), more.end());
        return shop.run(command);
    }
    Workshop shop;
};

TEST_F(SelfCheck, SaysOfEachSourceWhetherItWorks) {
    const ProgramEnd end = check();
    EXPECT_EQ(end.status, 0) << end.out << end.err;
    auto lines = linesOf(end.out);
    for (const char* source : {"host runtime", "ring", "spool", "import", "Python stacks"})
        EXPECT_EQ(lines[source].state, "works") << source << ": " << lines[source].detail;
    EXPECT_THAT(lines["host runtime"].detail, HasSubstr("; 20 calls"));
    EXPECT_THAT(lines["Python stacks"].detail, HasSubstr("; 40 stacks"));
    EXPECT_THAT(lines["import"].detail, HasSubstr("nothing lost"));
    if (!std::filesystem::exists("/dev/nvidia0")) {
        EXPECT_EQ(lines["CUDA calls"].state, "absent");
        EXPECT_THAT(end.out, HasSubstr("No GPU was used"));
    }
    // Nothing stays behind.
    EXPECT_TRUE(shop.spools().empty());
}

TEST_F(SelfCheck, AnotherToolsVariableIsNamed) {
    shop.variables["NVTX_INJECTION64_PATH"] = "/opt/other/libtool.so";
    const ProgramEnd end = check();
    auto lines = linesOf(end.out);
    if (lines["NVTX ranges"].state == "absent")
        GTEST_SKIP() << lines["NVTX ranges"].detail;
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(lines["NVTX ranges"].state, "broken");
    EXPECT_THAT(lines["NVTX ranges"].detail, HasSubstr("0 of 20 ranges"));
    EXPECT_THAT(end.err, HasSubstr("/opt/other/libtool.so by another tool"));
    EXPECT_EQ(lines["host runtime"].state, "works");
}

#ifdef GD_MADE_UP_CUDA
TEST_F(SelfCheck, ADriverThatLacksACallIsBroken) {
    shop.variables["LD_LIBRARY_PATH"] = std::filesystem::path(GD_MADE_UP_CUDA).parent_path().string();
    const ProgramEnd end = check();
    EXPECT_EQ(end.status, 1);
    auto lines = linesOf(end.out);
    EXPECT_EQ(lines["CUDA calls"].state, "broken");
    EXPECT_THAT(lines["CUDA calls"].detail, HasSubstr("libcuda.so.1 has no cu"));
    EXPECT_EQ(lines["Python stacks"].state, "works");
}
#endif

#ifdef GD_REFUSING_CUDA
// No call of the driver fails unseen: what comes after would be judged by it.
TEST_F(SelfCheck, EveryCallThatTheDriverRefusesIsNamed) {
    shop.variables["LD_LIBRARY_PATH"] = std::filesystem::path(GD_REFUSING_CUDA).parent_path().string();
    const auto runPart = [&](const std::string& refused) {
        shop.variables["GD_REFUSED"] = refused;
        const ProgramEnd end = shop.run({GD_SELF_CHECK_JOB, "cuda"});
        EXPECT_EQ(end.status, 0) << refused;
        return end.out;
    };
    EXPECT_THAT(runPart("none"), testing::StartsWith("ran\t, driver for CUDA "));
#define GD_TEXT(name) #name
#define GD_NAME(name) GD_TEXT(name)
#define X(member, name) GD_NAME(name),
    for (const std::string exported : {GD_SELF_CHECK_CALLS(X)}) {
#undef X
        const std::string call = exported.substr(0, exported.find("_v"));
        EXPECT_THAT(runPart(exported), testing::StartsWith("failed\t" + call + " returned 999\t"));
    }
}
#endif

TEST_F(SelfCheck, OptionsThatItWouldIgnoreAreRefused) {
    const std::vector<std::vector<std::string>> refused = {{"-o", "x.gdt"}, {"--report", "json"},
        {"--level", "full"}, {"--fail-on", "error"}, {"--redact"}, {"--print-env"}};
    for (const auto& options : refused) {
        const ProgramEnd end = check(options);
        EXPECT_EQ(end.status, 2) << options.front();
        EXPECT_THAT(end.err, HasSubstr(options.front()));
        EXPECT_EQ(end.out, "");
    }
    EXPECT_FALSE(std::filesystem::exists(shop.path("x.gdt")));
}

TEST_F(SelfCheck, WithoutAFolderForTemporaryFilesItIsRefused) {
    shop.variables["TMPDIR"] = "/nowhere/at all";
    const ProgramEnd end = check();
    EXPECT_EQ(end.status, 3);
    EXPECT_THAT(end.err, HasSubstr("TMPDIR"));
}

TEST_F(SelfCheck, WhatAPartLeavesRunningHoldsNobodyUp) {
    const std::string python = shop.file("python");
    std::ofstream(python) << "#!/bin/sh\nsleep 36000 &\nprintf 'ran\\tseen\\t\\n'\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const ProgramEnd end = check({"--", python});
    EXPECT_THAT(linesOf(end.out)["Python stacks"].detail, HasSubstr("seen"));
}

TEST_F(SelfCheck, ThePythonToTryIsNamedBehindTheDashes) {
    const ProgramEnd end = check({"--", "/nowhere/python"});
    EXPECT_EQ(end.status, 1) << end.out;
    EXPECT_EQ(linesOf(end.out)["Python stacks"].state, "broken");
    EXPECT_THAT(linesOf(end.out)["Python stacks"].detail, HasSubstr("/nowhere/python was not found"));
    EXPECT_EQ(check({"--", "python3", "train.py"}).status, 2);
}

TEST_F(SelfCheck, APythonThatCannotBeExecutedIsNotSaidToBeMissing) {
    const std::string python = shop.file("python");
    std::ofstream(python) << "text";
    const ProgramEnd plain = check({"--", python});
    EXPECT_EQ(plain.status, 1);
    EXPECT_THAT(
        linesOf(plain.out)["Python stacks"].detail, HasSubstr("cannot be executed: Permission denied"));
    std::ofstream(python) << "#!/nowhere/interpreter\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const ProgramEnd script = check({"--", python});
    EXPECT_EQ(script.status, 1);
    EXPECT_THAT(
        linesOf(script.out)["Python stacks"].detail, HasSubstr("the interpreter that the first line of"));
}

TEST_F(SelfCheck, EnvCallsIt) {
    const ProgramEnd end = shop.run(graphdoctor({"env", "--format", "json"}));
    ASSERT_EQ(end.status, 0);
    const auto json = nlohmann::json::parse(end.out);
    ASSERT_TRUE(json["self_check"].is_array());
    EXPECT_EQ(json["self_check"][0]["source"], "host runtime");
    EXPECT_EQ(json["self_check"][0]["state"], "works");
    const ProgramEnd without = shop.run(graphdoctor({"env", "--no-self-check"}));
    EXPECT_THAT(without.out, Not(HasSubstr("self check")));
}

} // namespace
