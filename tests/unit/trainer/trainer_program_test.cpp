// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it: arguments, statuses, ranks, faults, the loss it reaches.
#include "tests/support/test_names.h"
#include "trainer_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace gdt::test;

TEST(TrainerProgram, HelpAndFaultListEndWithSuccess) {
    EXPECT_EQ(run("--help").status, 0);
    EXPECT_NE(run("--help").output.find("Examples:"), std::string::npos);
    const Outcome list = run("--list-faults --json");
    EXPECT_EQ(list.status, 0);
    EXPECT_GE(nlohmann::json::parse(list.output).size(), 10U);
}

TEST(TrainerProgram, WrongArgumentsGiveOneSentenceAndStatusTwo) {
    for (const char* arguments : {"--no-such-option", "--steps many", "--steps 0", "--dtype fp7",
             "--dtype tf32", "--dtype bf16 --loss-scale 8",
             "--dtype fp8 --backend cuda --hidden 24 --heads 2", "--heads 3", "--hidden 6 --heads 2",
             "--fault nothing", "--fault item-in-capture@layer=9", "--fault tp-allreduce-unjoined", "--json",
             "--graph-scope full,cycle", "--corpus-tokens 10", "stray", "--tp 3", "--tp 16 --heads 16",
             "--pp 3", "--cp 3", "--cp 4 --seq-len 12", "--tp 2 --sequence-parallel --seq-len 7",
             "--pp 8 --tp 4 --cp 4 --layers 8", "--schedule interleaved",
             "--schedule interleaved --pp 2 --virtual-stages 2 --layers 4 --micro-batches 3",
             "--schedule gpipe --virtual-stages 2", "--schedule zero-bubble", "--tp-comm outside",
             "--tp 2 --graph-scope segment", "--graph-scope hop", "--graph-scope layer,segment",
             "--pp 2 --fault item-in-capture@layer=0@rank=1", "--fault tp-allreduce-stripped",
             "--fault rank-divergent-capture", "--fault ring-send-recv-order",
             "--pp 2 --micro-batches 1 --fault pp-unfused-p2p", "--comm model",
             "--comm model --dp 2 --as-rank 2", "--comm model --dp 2 --save x", "--host-stalls 0.1 0",
             "--comm-within-node 5 0", "--lr nan", "--host-op-overhead-us nan", "--fault graph-leak:nan"}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.status, 2) << arguments;
        EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
        EXPECT_EQ(outcome.output.rfind("reference-trainer: ", 0), 0U) << outcome.output;
    }
}

TEST(TrainerProgram, WithoutAGpuTheCudaBackendSaysSoAndEndsWithStatusThree) {
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1); // also where there is a GPU
    const Outcome one = run(kSmall + "--backend cuda");
    const Outcome ranks = run(kSmall + "--backend cuda --dp 2");
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(one.status, 3) << one.output;
    EXPECT_EQ(std::count(one.output.begin(), one.output.end(), '\n'), 1) << one.output;
    EXPECT_TRUE(one.losses.empty());
    EXPECT_EQ(ranks.status, 3) << ranks.output;
}

TEST(TrainerProgram, LogThatCannotBeWrittenIsNamed) {
    const Outcome outcome = run(kSmall + "--steps 2 --log /nonexistent/run.jsonl");
    EXPECT_EQ(outcome.status, 3);
    EXPECT_NE(outcome.output.find("/nonexistent/run.jsonl"), std::string::npos);
}

TEST(TrainerProgram, TwoReplicasEqualOneWithTwiceTheBatch) {
    const Outcome two = run(kSmall + "--dtype fp64 --steps 15 --dp 2");
    const Outcome one = run(kSmall + "--dtype fp64 --steps 15 --micro-batch-size 4");
    ASSERT_EQ(two.status, 0) << two.output;
    ASSERT_EQ(one.losses.size(), 15U);
    ASSERT_EQ(two.losses.size(), 15U);
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(two.losses[i], one.losses[i], 1e-10 * one.losses[i]) << "step " << i;
    }
    EXPECT_EQ(two.runs.back(), "replay");
}

TEST(TrainerProgram, TwoReplicasWithGraphsEqualThoseWithout) {
    const Outcome graphs = run(kSmall + "--steps 15 --dp 2");
    const Outcome eager = run(kSmall + "--steps 15 --dp 2 --graph-mode eager");
    ASSERT_EQ(graphs.status, 0) << graphs.output;
    EXPECT_EQ(graphs.losses, eager.losses);
    EXPECT_EQ(graphs.parameterHash, eager.parameterHash);
}

// The losses that the program prints, as text.
std::vector<std::string> printedLosses(const std::string& arguments) {
    const std::string command = std::string("env -u RANK -u WORLD_SIZE ") + GDT_TRAINER + " " + arguments;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::vector<std::string> losses;
    char line[512];
    while (std::fgets(line, sizeof(line), pipe) != nullptr) {
        const std::string text = line;
        const std::size_t at = text.find("  loss ");
        if (text.rfind("step ", 0) == 0 && at != std::string::npos) {
            losses.push_back(text.substr(at + 7, text.find("  entropy") - at - 7));
        }
    }
    EXPECT_EQ(::pclose(pipe), 0) << arguments;
    return losses;
}

TEST(TrainerProgram, EightRanksPrintTheLossesOfOneToTwelveDigits) {
    const std::string arguments = "--backend host --dtype fp64 --steps 20 --log-interval 1 ";
    const auto one = printedLosses(arguments + "--tp 1 --pp 1 --cp 1");
    const auto eight = printedLosses(arguments + "--tp 2 --pp 2 --sequence-parallel --cp 2");
    ASSERT_EQ(one.size(), 20U);
    EXPECT_EQ(one[0].size(), std::string("2.").size() + 12) << one[0];
    EXPECT_EQ(one, eight);
}

// As torchrun or mpirun would: each process is told its place; the replicas follow from the number of ranks.
TEST(TrainerProgram, RanksOfALauncherFindTheirPlaces) {
    const std::filesystem::path folder
        = std::filesystem::temp_directory_path() / ("trainer-ranks-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::string script;
    for (int rank = 0; rank < 4; ++rank) {
        const bool torchrun = rank % 2 == 0;
        script += std::string(torchrun ? "RANK=" : "OMPI_COMM_WORLD_RANK=") + std::to_string(rank)
            + (torchrun ? " WORLD_SIZE=4 " : " OMPI_COMM_WORLD_SIZE=4 ") + GDT_TRAINER + " " + kSmall
            + "--quiet --dtype fp64 --steps 4 --tp 2 --rendezvous " + folder.string() + " --log "
            + (folder / ("log" + std::to_string(rank))).string() + " & ";
    }
    EXPECT_EQ(std::system((script + "wait").c_str()), 0);
    Outcome launched;
    readLog(folder / "log0", launched);
    const Outcome own = run(kSmall + "--dtype fp64 --steps 4 --tp 2 --dp 2");
    EXPECT_EQ(launched.losses, own.losses);
    EXPECT_EQ(launched.losses.size(), 4U);
    const std::string wrong = std::string("RANK=0 WORLD_SIZE=4 ") + GDT_TRAINER
        + " --tp 3 --heads 6 --hidden 12 --vocab 9 2>&1 >/dev/null | grep -c 'launcher started 4'";
    EXPECT_EQ(std::system(wrong.c_str()), 0);
    std::filesystem::remove_all(folder);
}

// A launcher may start its ranks with different options, and nothing else would show: shapes fit together.
TEST(TrainerProgram, RanksThatWereStartedDifferentlyEndWithOneSentence) {
    const std::filesystem::path folder
        = std::filesystem::temp_directory_path() / ("trainer-differs-" + std::to_string(::getpid()));
    const std::pair<std::string, std::string> cases[]
        = {{" --seed 5", "--seed 5, rank 0 with --seed 1;"}, {" --lr 0.5", "--lr 0.5, rank 0 with --lr "},
            {" --sequence-parallel", "--sequence-parallel true, rank 0 with --sequence-parallel "}};
    for (const auto& [option, sentence] : cases) {
        std::filesystem::create_directories(folder);
        std::string script;
        for (int rank = 0; rank < 4; ++rank) {
            const std::string file = (folder / std::to_string(rank)).string();
            script += "{ RANK=" + std::to_string(rank) + " WORLD_SIZE=4 " + GDT_TRAINER + " " + kSmall
                + "--quiet --tp 2 --steps 1000000 --rendezvous " + folder.string() + (rank == 2 ? option : "")
                + " >" + file + " 2>&1; echo status $? >>" + file + "; } & ";
        }
        EXPECT_EQ(std::system((script + "wait").c_str()), 0);
        for (int rank = 0; rank < 4; ++rank) {
            std::ifstream file(folder / std::to_string(rank));
            const std::string said(std::istreambuf_iterator<char>(file), {});
            EXPECT_NE(said.find("status 1"), std::string::npos) << option << ": " << said;
            EXPECT_EQ(said.find("rank 2 was started with " + sentence) != std::string::npos, rank == 2)
                << option << ": " << said;
        }
        std::filesystem::remove_all(folder);
    }
}

TEST(TrainerProgram, APeerThatDiesEndsTheOthersWithOneSentence) {
    const std::string log
        = (std::filesystem::temp_directory_path() / ("trainer-dies-" + std::to_string(::getpid()))).string();
    const pid_t launcher = ::fork();
    if (launcher == 0) {
        ::unsetenv("RANK");
        const std::string command = std::string("exec ") + GDT_TRAINER + " " + kSmall
            + "--steps 1000000 --tp 2 --pp 2 --log-interval 1 > " + log + " 2>&1";
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    const auto read = [](const std::string& path) {
        std::ifstream file(path);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    // All ranks train: rank 0 has printed a step.
    while (read(log).find("\nstep ") == std::string::npos) {
        ASSERT_EQ(::waitpid(launcher, nullptr, WNOHANG), 0) << read(log);
        ::usleep(2000);
    }
    const std::string pid = std::to_string(launcher);
    std::istringstream children(read("/proc/" + pid + "/task/" + pid + "/children"));
    std::vector<pid_t> ranks;
    for (pid_t child = 0; children >> child;) {
        ranks.push_back(child);
    }
    ASSERT_EQ(ranks.size(), 4U);
    ::kill(ranks[2], SIGKILL);
    int wait = 0;
    ::waitpid(launcher, &wait, 0);
    EXPECT_EQ(WEXITSTATUS(wait), 128 + SIGKILL);
    const std::string output = read(log);
    std::filesystem::remove(log);
    EXPECT_NE(output.find("rank 2 was ended by signal 9"), std::string::npos) << output;
    EXPECT_EQ(output.find("reference-trainer: rank"), output.rfind("reference-trainer: rank")) << output;
    for (const pid_t rank : ranks) {
        EXPECT_NE(::kill(rank, 0), 0) << "rank still runs";
    }
}

TEST(TrainerProgram, FailureOfOneRankEndsTheJob) {
    const Outcome outcome = run(kSmall + "--steps 5 --dp 2 --log /nonexistent/run.jsonl");
    EXPECT_EQ(outcome.status, 3);
}

// Runs where training goes on although the capture fails: same losses as without graphs, and one line that
// says so.
class CaptureFault : public ::testing::TestWithParam<const char*> { };

TEST_P(CaptureFault, TrainingGoesOnEagerly) {
    const std::string arguments = kSmall + "--steps 12 ";
    const Outcome eager = run(arguments + "--graph-mode eager");
    const Outcome faulty = run(arguments + "--fault " + GetParam());
    ASSERT_EQ(faulty.status, 0) << faulty.output;
    EXPECT_EQ(faulty.losses, eager.losses);
    EXPECT_EQ(faulty.parameterHash, eager.parameterHash);
    EXPECT_NE(faulty.output.find("it runs eagerly"), std::string::npos) << faulty.output;
    const std::string id = std::string(GetParam()).substr(0, std::string(GetParam()).find('@'));
    EXPECT_NE(faulty.output.find("fault " + id + ": module="), std::string::npos) << faulty.output;
}

INSTANTIATE_TEST_SUITE_P(Faults, CaptureFault,
    ::testing::Values("item-in-capture", "item-in-capture@step=6@layer=1", "no-warmup-optimizer",
        "unjoined-fork", "unjoined-fork@layer=1", "pp-event-outside-capture",
        "pp-event-outside-capture@step=5@layer=1", "abandoned-capture", "abandoned-capture@step=5"),
    [](const auto& one) { return gd::test::testName(one.param); });

TEST(TrainerProgram, FaultOnOneRankSendsBothToEager) {
    const std::string arguments = kSmall + "--steps 12 --dp 2 ";
    const Outcome eager = run(arguments + "--graph-mode eager");
    for (const char* fault : {"item-in-capture@rank=1", "unjoined-fork@rank=0", "abandoned-capture@rank=1",
             "no-warmup-optimizer@rank=1"}) {
        const Outcome faulty = run(arguments + "--fault " + fault);
        ASSERT_EQ(faulty.status, 0) << faulty.output;
        EXPECT_EQ(faulty.losses, eager.losses) << fault;
        EXPECT_NE(faulty.output.find("another rank could not capture"), std::string::npos) << faulty.output;
    }
}

// Each harmless twin captures, replays and computes what the healthy run computes.
TEST(TrainerProgram, HarmlessTwinsReplay) {
    const std::string arguments = kSmall + "--steps 12 ";
    const Outcome healthy = run(arguments);
    for (const char* id : {"item-in-capture", "no-warmup-optimizer", "sync-in-graph-region", "record-stream",
             "activation-realloc", "replay-jitter", "unjoined-fork", "abandoned-capture",
             "pp-event-outside-capture"}) {
        const Outcome twin = run(arguments + "--fault " + id + "@harmless");
        ASSERT_EQ(twin.status, 0) << id << twin.output;
        EXPECT_EQ(twin.losses, healthy.losses) << id;
        EXPECT_EQ(twin.runs.back(), "replay") << id;
        EXPECT_TRUE(twin.output.empty()) << id << ": " << twin.output;
    }
}

TEST(TrainerProgram, UnjoinedAllReduceIsWrongWithoutAnyError) {
    const std::string arguments = kSmall + "--steps 12 --dp 2 ";
    const Outcome healthy = run(arguments);
    const Outcome faulty = run(arguments + "--fault tp-allreduce-unjoined");
    const Outcome twin = run(arguments + "--fault tp-allreduce-unjoined@harmless");
    ASSERT_EQ(faulty.status, 0) << faulty.output;
    EXPECT_EQ(twin.losses, healthy.losses);
    EXPECT_EQ(std::vector<double>(faulty.losses.begin(), faulty.losses.begin() + 3),
        std::vector<double>(healthy.losses.begin(), healthy.losses.begin() + 3))
        << "the eager steps are right";
    EXPECT_LT(faulty.losses.back(), 0.7 * healthy.losses.back()) << "half of the loss is missing";
}

// Ranks that wait for each other or run different things: the communicator names what they do, the job ends,
// and the harmless twin trains.
TEST(TrainerProgram, FaultsBetweenRanksAreNamed) {
    const struct {
        const char* fault;
        const char* layout;
        std::vector<std::string> words;
    } cases[] = {
        {"pp-unfused-p2p", "--pp 2 --micro-batches 4",
            {"ranks wait for each other: rank 0 in send of", "rank 1 in send of",
                "fault pp-unfused-p2p: module="}},
        {"ring-send-recv-order", "--cp 2",
            {"ranks wait for each other: rank 0 in send of", "rank 1 in send of",
                "fault ring-send-recv-order: module="}},
        {"rank-divergent-capture", "--dp 2", {"ranks disagree", ", in a graph,", ", not in a graph,"}},
        {"rank-divergent-capture@rank=0@step=5", "--tp 2",
            {"ranks disagree", ", in a graph,", ", not in a graph,"}},
    };
    for (const auto& one : cases) {
        const std::string arguments = kSmall + "--steps 10 " + one.layout + " ";
        const Outcome faulty = run(arguments + "--fault " + one.fault);
        EXPECT_EQ(faulty.status, 1) << one.fault << faulty.output;
        for (const std::string& word : one.words) {
            EXPECT_NE(faulty.output.find(word), std::string::npos) << word << " in " << faulty.output;
        }
        const Outcome healthy = run(arguments);
        const Outcome twin = run(arguments + "--fault " + one.fault + "@harmless");
        EXPECT_EQ(twin.status, 0) << one.fault << twin.output;
        EXPECT_EQ(twin.losses, healthy.losses) << one.fault;
        EXPECT_TRUE(twin.output.empty()) << twin.output;
    }
}

TEST(TrainerProgram, WhatHangsEndsAfterTheTimeThatIsAskedFor) {
    const Outcome end = run("--pp 2 --micro-batches 4 --steps 12 --shm-strict 0 --comm-timeout 1 --fault "
                            "pp-unfused-p2p");
    EXPECT_EQ(end.status, 1) << end.output;
    EXPECT_NE(end.output.find("did not come within 1000 ms"), std::string::npos) << end.output;
}

TEST(TrainerProgram, StrippedCollectivesRunBetweenGraphs) {
    const std::string arguments = kSmall + "--steps 12 --tp 2 ";
    const Outcome healthy = run(arguments);
    const Outcome stripped = run(arguments + "--fault tp-allreduce-stripped");
    EXPECT_EQ(stripped.status, 0) << stripped.output;
    EXPECT_EQ(stripped.losses, healthy.losses);
    EXPECT_EQ(stripped.runs.back(), "replay");
    EXPECT_EQ(run(arguments + "--fault tp-allreduce-stripped@harmless").losses, healthy.losses);
}

TEST(TrainerProgram, RuntimeFaultsTrainToTheEnd) {
    for (const char* fault : {"sync-in-graph-region:100", "record-stream@step=5@layer=1",
             "activation-realloc@step=3", "replay-jitter:1", "graph-cache-overflow:6 --max-graphs 4"}) {
        const Outcome outcome = run(kSmall + "--steps 30 --fault " + fault);
        EXPECT_EQ(outcome.status, 0) << fault << outcome.output;
        EXPECT_EQ(outcome.losses.size(), 30U) << fault;
    }
}

TEST(TrainerProgram, LossFallsToWithinTwoPercentOfTheEntropyRate) {
    const Outcome outcome = run("--steps 2000");
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    // Mean over 100 steps: a single batch of 512 tokens scatters by 4 %.
    double sum = 0;
    for (std::size_t i = outcome.losses.size() - 100; i < outcome.losses.size(); ++i) {
        sum += outcome.losses[i];
    }
    const double loss = sum / 100;
    EXPECT_LT(std::abs(loss / outcome.entropyRate - 1.0), 0.02) << loss << " against " << outcome.entropyRate;
    EXPECT_GT(outcome.losses.front(), 1.4 * outcome.entropyRate) << "there was nothing to learn";
}

} // namespace
