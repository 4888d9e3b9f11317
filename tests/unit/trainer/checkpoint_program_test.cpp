// SPDX-License-Identifier: Apache-2.0
// Saving, resuming and stopping the program, and training on files, as a user does it.
#include "tests/support/temporary_folder.h"
#include "tests/support/test_names.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using gd::test::TemporaryFolder;

struct Outcome {
    int status = -1;
    std::string output; // stdout and stderr
    std::map<int, double> losses; // by step
    std::string parameterHash;
};

std::string readText(const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

const std::string kSmall
    = "--dtype fp32 --hidden 16 --heads 2 --layers 4 --seq-len 16 --micro-batch-size 2 --corpus-tokens 8192 "
      "--dropout 0.1 --embedding-dropout 0.1 --attention-dropout 0.1 ";

Outcome run(const TemporaryFolder& folder, const std::string& arguments, const std::string& before = "") {
    const std::string log = (folder.path() / "log.jsonl").string();
    std::filesystem::remove(log);
    const std::string command = "cd " + folder.path().string() + " && " + before
        + " env -u RANK -u WORLD_SIZE " + GDT_TRAINER + " --quiet --log " + log + " " + arguments + " 2>&1";
    Outcome outcome;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
        outcome.output += buffer;
    }
    const int wait = ::pclose(pipe);
    outcome.status = WIFEXITED(wait) ? WEXITSTATUS(wait) : 128 + WTERMSIG(wait);
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        const auto record = nlohmann::json::parse(line, nullptr, false);
        if (record.is_discarded()) {
            continue; // cut off by a signal
        }
        if (record["event"] == "step") {
            outcome.losses[record["step"]] = record["loss"];
        } else if (record["event"] == "end") {
            outcome.parameterHash = record["parameter_hash"];
        }
    }
    return outcome;
}

class Resume : public ::testing::TestWithParam<const char*> { };

TEST_P(Resume, GoesOnBitForBit) {
    const TemporaryFolder folder;
    const std::string arguments = kSmall + "--steps 20 " + GetParam() + " ";
    const Outcome straight = run(folder, arguments);
    ASSERT_EQ(straight.status, 0) << straight.output;
    const Outcome saving = run(folder, arguments + "--save points --save-interval 8");
    EXPECT_EQ(saving.parameterHash, straight.parameterHash) << saving.output;
    EXPECT_EQ(readText(folder.path() / "points" / "latest"), "step-20");
    const Outcome resumed = run(folder, arguments + "--resume points/step-8");
    ASSERT_EQ(resumed.status, 0) << resumed.output;
    EXPECT_EQ(resumed.parameterHash, straight.parameterHash);
    EXPECT_EQ(resumed.losses.size(), 12U);
    for (const auto& [step, loss] : resumed.losses) {
        EXPECT_EQ(loss, straight.losses.at(step)) << "step " << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Resume,
    ::testing::Values("", "--graph-mode eager --norm rms --untied", "--tp 2 --pp 2 --sequence-parallel",
        "--dp 2 --zero1 --activation swiglu", "--cp 2 --pp 2 --schedule gpipe",
        "--dtype fp16 --loss-scale 4294967296 --loss-scale-window 3", "--dtype bf16 --tp 2 --dp 2 --zero1",
        "--dtype fp8 --tp 2 --recompute selective"),
    [](const auto& one) { return gd::test::testName(one.param); });

TEST(Checkpoint, WhatDoesNotFitIsNamedWithStatusThree) {
    const TemporaryFolder folder;
    ASSERT_EQ(run(folder, kSmall + "--steps 4 --save points --dp 2").status, 0);
    const auto expectRefused = [&](const std::string& arguments, const std::string& words) {
        const Outcome outcome = run(folder, arguments);
        EXPECT_EQ(outcome.status, 3) << arguments;
        EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
        EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    };
    const std::string steps = kSmall + "--steps 9 --resume ";
    expectRefused(steps + "points --tp 2", "was made with --tp 1, this run has 2");
    expectRefused(steps + "points", "was made with --dp 2, this run has 1");
    expectRefused(steps + "points --dp 2 --dtype fp64", "was made with --dtype fp32, this run has fp64");
    expectRefused(
        steps + "points --dp 2 --activation swiglu", "was made with --activation gelu, this run has swiglu");
    expectRefused(steps + "nothing", "cannot be read");
    const std::filesystem::path file = folder.path() / "points" / "step-4" / "rank-0.ckpt";
    const auto bytes = std::filesystem::file_size(file);
    std::filesystem::resize_file(file, bytes + 1);
    expectRefused(steps + "points --dp 2",
        "rank-0.ckpt is damaged: more bytes follow its end at byte " + std::to_string(bytes));
    std::filesystem::resize_file(file, bytes - 100);
    const Outcome cut = run(folder, steps + "points --dp 2");
    EXPECT_EQ(cut.status, 3);
    EXPECT_NE(cut.output.find("rank-0.ckpt is damaged: it ends or differs at byte"), std::string::npos)
        << cut.output;
    std::ofstream(file) << "something else";
    expectRefused(steps + "points --dp 2", "is no checkpoint of this program");
    for (const char* name : {"", "step-", "../elsewhere", "\x01\xff\n"}) {
        std::ofstream(folder.path() / "points" / "latest") << name;
        expectRefused(
            steps + "points --dp 2", "points/latest does not name a checkpoint: step-N is expected");
    }
}

// A limit on the size of files stands for a full disk: the write fails, the checkpoint before stays.
TEST(Checkpoint, OneThatCannotBeWrittenLeavesTheLastGoodOne) {
    const TemporaryFolder folder;
    const std::string arguments = kSmall + "--hidden 64 --dp 2 --steps "; // two megabytes a rank
    ASSERT_EQ(run(folder, arguments + "4 --save points").status, 0);
    const Outcome full
        = run(folder, arguments + "9 --resume points --save points", "trap '' XFSZ && ulimit -f 2048 &&");
    EXPECT_EQ(full.status, 3) << full.output;
    EXPECT_NE(full.output.find(".ckpt cannot be written: File too large"), std::string::npos) << full.output;
    EXPECT_EQ(readText(folder.path() / "points" / "latest"), "step-4");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "points" / "step-9.partial"));
    EXPECT_EQ(run(folder, arguments + "9 --resume points").status, 0);
}

// Killed at any moment while a checkpoint of a step is made again, the run leaves one that can be resumed.
TEST(Checkpoint, SavingTheSameStepAgainNeverLeavesNone) {
    const TemporaryFolder folder;
    const std::string arguments = kSmall + "--hidden 32 --steps 4 ";
    ASSERT_EQ(run(folder, arguments + "--save points").status, 0);
    const auto points = folder.path() / "points";
    for (int i = 0; i < 12; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            const std::string command = "cd " + folder.path().string() + " && exec env -u RANK -u WORLD_SIZE "
                + GDT_TRAINER + " " + arguments + "--quiet --save points 2>&1";
            ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            ::_exit(127);
        }
        const auto begun = [&] { return std::filesystem::exists(points / "step-4.partial"); };
        int wait = 0;
        while (!begun() && ::waitpid(child, &wait, WNOHANG) == 0) {
            ::usleep(200);
        }
        ::usleep(static_cast<unsigned>(i) * 300);
        ::kill(child, SIGKILL);
        ::waitpid(child, &wait, 0);
        const Outcome resumed = run(folder, kSmall + "--hidden 32 --steps 5 --resume points");
        ASSERT_EQ(resumed.status, 0) << "kill " << i << ": " << resumed.output;
    }
}

TEST(Checkpoint, OneThatWasSetAsideIsFoundWhenItsPlaceIsEmpty) {
    const TemporaryFolder folder;
    ASSERT_EQ(run(folder, kSmall + "--steps 4 --save points").status, 0);
    const auto points = folder.path() / "points";
    std::filesystem::rename(points / "step-4", points / "step-4.old");
    const Outcome resumed = run(folder, kSmall + "--steps 5 --resume points");
    EXPECT_EQ(resumed.status, 0) << resumed.output;
}

TEST(Log, AFullDiskEndsTheLogAndNothingElse) {
    const TemporaryFolder folder;
    for (const char* steps : {"3", "300"}) { // the failure shows at the end, or on the way
        const Outcome outcome = run(folder, kSmall + "--save points --steps " + steps + " --log /dev/full");
        EXPECT_EQ(outcome.status, 3);
        EXPECT_EQ(outcome.output,
            "reference-trainer: --log /dev/full: No space left on device; the log is incomplete, training "
            "goes "
            "on\n");
        EXPECT_EQ(readText(folder.path() / "points" / "latest"), std::string("step-") + steps);
    }
}

TEST(Checkpoint, ASignalSavesAndLeavesAndTheRunCanGoOn) {
    const TemporaryFolder folder;
    const std::string arguments = kSmall + "--tp 2 --dp 2 --steps 400 --log-interval 1 ";
    const Outcome straight = run(folder, arguments);
    // What it prints goes through a pipe that holds some forty lines: it cannot come to its end before it is
    // asked to stop.
    const std::string printed = (folder.path() / "printed").string();
    ASSERT_EQ(::mkfifo(printed.c_str(), 0600), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        // --steps are those of the whole run, of which the learning rate knows; eager calls that take a while
        // keep it from its end until the signal is there, and change no bit.
        const std::string command = "cd " + folder.path().string() + " && exec env -u RANK -u WORLD_SIZE "
            + GDT_TRAINER + " " + arguments + "--graph-mode eager --host-op-overhead-us 500 --save points > "
            + printed + " 2>&1";
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    const int pipe = ::open(printed.c_str(), O_RDONLY);
    ASSERT_GE(::fcntl(pipe, F_SETPIPE_SZ, 4096), 0);
    std::string said;
    bool asked = false;
    char text[512];
    for (ssize_t count = 0; (count = ::read(pipe, text, sizeof(text))) > 0;) {
        said.append(text, static_cast<std::size_t>(count));
        if (!asked && said.find("\nstep ") != std::string::npos) {
            asked = ::kill(child, SIGINT) == 0;
        }
    }
    ::close(pipe);
    int wait = 0;
    ::waitpid(child, &wait, 0);
    EXPECT_EQ(wait, 0) << said;
    EXPECT_NE(said.find("stopped as asked"), std::string::npos) << said;
    EXPECT_NE(readText(folder.path() / "points" / "latest"), "step-400");
    const Outcome resumed = run(folder, arguments + "--resume points");
    EXPECT_EQ(resumed.parameterHash, straight.parameterHash) << resumed.output;
}

TEST(Data, TextAndTokenFilesTrain) {
    const TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 400; ++i) {
        text += "the cat sat on mat " + std::to_string(i % 10) + "\n";
    }
    std::ofstream(folder.path() / "text") << text;
    const std::string shape = "--hidden 16 --heads 2 --seq-len 16 --steps 30 --lr 0.02 ";
    const Outcome one = run(folder, shape + "--data text");
    ASSERT_EQ(one.status, 0) << one.output;
    EXPECT_NEAR(one.losses.at(0), std::log(256.0), 0.3);
    EXPECT_LT(one.losses.at(29), 3.2);
    const Outcome two = run(folder, shape + "--data text --tp 2");
    EXPECT_NEAR(two.losses.at(29), one.losses.at(29), 1e-3);
    std::string numbers;
    for (int i = 0; i < 4000; ++i) {
        numbers += static_cast<char>(i % 7);
        numbers += '\0';
    }
    std::ofstream(folder.path() / "numbers") << numbers;
    const Outcome tokens = run(folder, shape + "--data numbers --data-format uint16 --padded-vocab 8");
    EXPECT_EQ(tokens.status, 0) << tokens.output;
    EXPECT_LT(tokens.losses.at(29), 0.7 * tokens.losses.at(0));
}

TEST(Data, WhatCannotBeUsedIsNamedWithItsPlace) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "short") << "abc";
    std::ofstream(folder.path() / "odd") << std::string(101, 'a');
    for (const auto& [arguments, words] :
        std::map<std::string, std::string>{{"--data missing", "missing cannot be read: No such file"},
            {"--data .", "cannot be read: Is a directory"}, {"--data /dev/zero", "/dev/zero is a device"},
            {"--data short", "short has 3 tokens; a sequence and the token after it need 65"},
            {"--data odd --data-format uint16 --padded-vocab 100 --dp 2", "no whole number of tokens"},
            {"--data odd --seq-len 8 --data-format bytes --padded-vocab 300", ""},
            {"--data odd --seq-len 8 --data-format int32 --padded-vocab 100", "no whole number"}}) {
        const Outcome outcome = run(folder, arguments + " --steps 2");
        EXPECT_EQ(outcome.status, words.empty() ? 0 : 3) << arguments << outcome.output;
        EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
    }
    std::ofstream(folder.path() / "large") << std::string(200, 'z');
    const Outcome large
        = run(folder, "--data large --data-format uint16 --padded-vocab 100 --seq-len 8 --steps 2");
    EXPECT_EQ(large.status, 3);
    EXPECT_NE(large.output.find("token 31354 at byte 0 is not in the vocabulary of 100"), std::string::npos)
        << large.output;
}

} // namespace
