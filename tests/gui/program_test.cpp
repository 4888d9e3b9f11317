// SPDX-License-Identifier: Apache-2.0
// `graphdoctor view` and graphdoctor-gui as programs: pictures without a display, and one sentence with a
// status for everything that cannot be shown.
#include "tests/gui/trace_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

struct End {
    int status = -1;
    std::string text; // both streams
};

// Runs a shell command without any display.
End run(const std::string& command) {
    End end;
    std::FILE* pipe
        = popen(("env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM " + command + " 2>&1").c_str(), "r");
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        end.text.append(buffer.data(), got);
    const int status = pclose(pipe);
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return end;
}

// Width and height of a PNG file, from its header; 0 when it is none.
std::pair<unsigned, unsigned> sizeOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<unsigned char, 24> head{};
    if (!file.read(reinterpret_cast<char*>(head.data()), head.size()) || head[1] != 'P' || head[2] != 'N')
        return {0, 0};
    const auto word = [&head](std::size_t at) {
        return static_cast<unsigned>(head[at]) << 24 | static_cast<unsigned>(head[at + 1]) << 16
            | static_cast<unsigned>(head[at + 2]) << 8 | static_cast<unsigned>(head[at + 3]);
    };
    return {word(16), word(20)};
}

class Program : public testing::Test {
protected:
    std::string view(const std::string& arguments) const {
        return std::string(GD_PROGRAM) + " view " + arguments;
    }

    gd::test::TraceFiles files;
    std::string trace = files.fixture("h200-trace-sync-broken").toStdString();
    std::string picture = files.path("out.png");
};

TEST_F(Program, DrawsWithoutADisplay) {
    for (const char* what :
        {"", "--view finding:1", "--view step:10", "--view range:300ms..310ms", "--theme dark"}) {
        std::filesystem::remove(picture);
        const End end = run(view(trace + " --size 1000x700 --screenshot " + picture + " " + what));
        EXPECT_EQ(end.status, 0) << what << ": " << end.text;
        EXPECT_EQ(sizeOf(picture), std::make_pair(1000U, 700U)) << what;
    }
}

TEST_F(Program, HighResolutionDoublesThePixels) {
    const End end = run("env QT_SCALE_FACTOR=2 " + view(trace + " --size 800x600 --screenshot " + picture));
    EXPECT_EQ(end.status, 0) << end.text;
    EXPECT_EQ(sizeOf(picture), std::make_pair(1600U, 1200U));
}

TEST_F(Program, WhatCannotBeShownIsOneSentenceAndItsStatus) {
    const std::string cut = files.path("cut.gdt");
    std::filesystem::copy_file(trace, cut);
    std::filesystem::resize_file(cut, 20'000);
    for (const auto& [arguments, status, word] : std::vector<std::tuple<std::string, int, std::string>>{
             {"/nowhere.gdt --screenshot " + picture, 3, "/nowhere.gdt"},
             {cut + " --screenshot " + picture, 3, "cut.gdt"},
             {trace + " --screenshot /nowhere/x.png", 3, "/nowhere/x.png cannot be written: No such file"},
             {trace + " --screenshot " + picture + " --view finding:99", 2, "finding:99"},
             {trace + " --screenshot " + picture + " --view step:9999", 2, "step:9999"},
             {trace + " --screenshot " + picture + " --view never", 2, "never"},
             {trace + " --screenshot " + picture + " --language xx", 2, "xx"},
             {trace, 3, "QT_QPA_PLATFORM"}}) {
        const End end = run(view(arguments));
        EXPECT_EQ(end.status, status) << arguments << ": " << end.text;
        EXPECT_THAT(end.text, testing::HasSubstr(word));
        EXPECT_EQ(std::count(end.text.begin(), end.text.end(), '\n'), 1) << end.text;
    }
    EXPECT_THAT(run(view(trace)).text, testing::HasSubstr("--screenshot"));
    // A display that is named but not there, and a platform that does not exist.
    const End noServer = run("env DISPLAY=:987 " + view(trace));
    EXPECT_EQ(noServer.status, 3) << noServer.text;
    EXPECT_THAT(noServer.text, testing::HasSubstr("--screenshot"));
    const End noPlugin = run("env QT_QPA_PLATFORM=none " + view(trace + " --screenshot " + picture));
    EXPECT_EQ(noPlugin.status, 3) << noPlugin.text;
    EXPECT_THAT(noPlugin.text, testing::HasSubstr("platform plugin"));
    EXPECT_THAT(noPlugin.text, testing::Not(testing::HasSubstr("--screenshot")));
}

// A limit on the size of files stands for a full disk: writing ends in the same place, with an errno.
TEST_F(Program, APictureThatDoesNotFitNamesTheReasonAndLeavesNothing) {
    const End end
        = run("sh -c 'trap \"\" XFSZ; ulimit -f 1; exec " + view(trace + " --screenshot " + picture + "'"));
    EXPECT_EQ(end.status, 3) << end.text;
    EXPECT_THAT(end.text, testing::HasSubstr(picture + " cannot be written: File too large"));
    EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(Program, WithoutTheViewerThePackageIsNamed) {
    const std::string alone = files.path("graphdoctor");
    std::filesystem::copy_file(GD_PROGRAM, alone);
    const End end = run("env PATH=/nowhere:/bin:/usr/bin " + alone + " view " + trace);
    EXPECT_EQ(end.status, 3);
    EXPECT_THAT(end.text, testing::HasSubstr("qt6-base-dev"));
    // In PATH it is found.
    const std::string folder = std::filesystem::path(GD_PROGRAM).parent_path().string();
    const End found = run(
        "env PATH=" + folder + ":/bin:/usr/bin " + alone + " view " + trace + " --screenshot " + picture);
    EXPECT_EQ(found.status, 0) << found.text;
}

} // namespace
