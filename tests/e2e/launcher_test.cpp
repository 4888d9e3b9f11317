// SPDX-License-Identifier: Apache-2.0
// Launchers: however a job of several processes is started and killed, there is one trace and one report, and
// nothing that was recorded is lost.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

using namespace gd::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kSmall
    = {"--layers", "1", "--hidden", "32", "--seq-len", "16", "--micro-batch-size", "1"};

std::vector<std::string> trainer(int steps) {
    std::vector<std::string> out = {GD_TRAINER, "--backend", "host", "--steps", std::to_string(steps)};
    out.insert(out.end(), kSmall.begin(), kSmall.end());
    return out;
}

std::vector<std::string> operator+(std::vector<std::string> left, const std::vector<std::string>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

std::string ask(const Workshop& shop, const std::string& sql, const std::string& trace = "x.gdt") {
    const ProgramEnd answer = shop.run(graphdoctor({"query", shop.file(trace), sql, "--format", "csv"}));
    EXPECT_EQ(answer.status, 0) << answer.err;
    const std::string rows = answer.out.substr(answer.out.find('\n') + 1);
    return rows.substr(0, rows.find_last_not_of('\n') + 1);
}

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

// At least a minute before it gives up.
template <class Condition> bool eventually(Condition condition) {
    for (int i = 0; i < 30'000 && !condition(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return condition();
}

// Pids of the processes that record into any spool of the workshop: what they write first, once the ring is
// there, is in their segments.
std::vector<pid_t> recorded(const Workshop& shop) {
    std::vector<pid_t> pids;
    for (const fs::path& spool : shop.spools()) {
        std::error_code ignored;
        for (const auto& file : fs::directory_iterator(spool, ignored)) {
            if (file.path().extension() != ".seg" || file.file_size(ignored) == 0)
                continue;
            // <host>.<pid>.<start>.<random>.seg
            std::string stem = file.path().stem().string();
            stem.resize(stem.rfind('.'));
            stem.resize(stem.rfind('.'));
            pids.push_back(static_cast<pid_t>(std::atol(stem.c_str() + stem.rfind('.') + 1)));
        }
    }
    return pids;
}

// What no end of a process may cause: everything whose record returned is there.
void expectNothingLost(const Workshop& shop, const std::string& trace = "x.gdt") {
    EXPECT_EQ(ask(shop,
                  "SELECT count(*) FROM trace_issue WHERE code IN ('missing_records', 'dropped_records', "
                  "'ring_missing', 'unreadable_segment', 'damaged_chunk', 'damaged_record')",
                  trace),
        "0");
}

class Launcher : public testing::Test {
protected:
    // A sibling of a job that only its variables tell: its stderr goes to a file of its own. `command`: what
    // it runs.
    pid_t startSibling(int number, const std::vector<std::string>& command) {
        const std::string error = "exec \"$0\" \"$@\" 2>err." + std::to_string(number);
        return m_shop.start(std::vector<std::string>{"sh", "-c", error}
            + graphdoctor({"run", "-o", m_shop.file("x.gdt"), "--"}) + command);
    }
    // A trainer, and afterwards a wait for the pipe `gate` to be opened.
    std::vector<std::string> gated(int steps, const std::string& gate) const {
        return std::vector<std::string>{"sh", "-c", "\"$0\" \"$@\"; read go <" + m_shop.file(gate)}
        + trainer(steps);
    }
    // Lets the command behind the pipe end, and those that have not come to it yet.
    static void open(const fs::path& gate) { std::ofstream(gate) << "go\n"; }
    std::string errors(int count) const {
        std::string all;
        for (int i = 0; i < count; ++i)
            all += readFile(m_shop.path("err." + std::to_string(i)));
        return all;
    }
    // One report, and one line from each of the others.
    void expectOneReport(const std::string& err, std::size_t runs) const {
        EXPECT_EQ(countOf(err, "GraphDoctor report\n"), 1u) << err;
        EXPECT_EQ(countOf(err, "graphdoctor run: done; the last run of job "), runs - 1) << err;
        EXPECT_EQ(countOf(err, "writes " + m_shop.file("x.gdt")), runs - 1) << err;
        EXPECT_TRUE(m_shop.spools().empty());
    }
    void siblingsGiveOneTrace() {
        std::vector<pid_t> pids;
        for (int i = 0; i < 3; ++i)
            pids.push_back(startSibling(i, trainer(30)));
        for (const pid_t pid : pids)
            EXPECT_EQ(Workshop::wait(pid), 0);
        expectOneReport(errors(3), 3);
        EXPECT_EQ(ask(m_shop, "SELECT count(*), min(exit_status), max(exit_status) FROM process"), "3,0,0");
        EXPECT_EQ(
            ask(m_shop, "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM step GROUP BY process_id)"),
            "30,30");
        expectNothingLost(m_shop);
    }

    Workshop m_shop;
};

TEST_F(Launcher, SiblingsUnderTorchrun) {
    m_shop.variables.insert({{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "localhost"},
        {"MASTER_PORT", "29555"}, {"LOCAL_WORLD_SIZE", "3"}});
    siblingsGiveOneTrace();
}

TEST_F(Launcher, SiblingsUnderSlurm) {
    m_shop.variables.insert({{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"},
        {"SLURM_STEP_TASKS_PER_NODE", "3"}});
    siblingsGiveOneTrace();
}

TEST_F(Launcher, AKilledSiblingTakesNothingWithIt) {
    m_shop.variables.insert({{"TORCHELASTIC_RUN_ID", "job7"}, {"MASTER_ADDR", "localhost"},
        {"MASTER_PORT", "29556"}, {"LOCAL_WORLD_SIZE", "3"}});
    std::vector<pid_t> pids;
    for (int i = 0; i < 3; ++i) {
        const std::string gate = "gate." + std::to_string(i);
        ASSERT_EQ(mkfifo(m_shop.file(gate).c_str(), 0600), 0);
        pids.push_back(startSibling(i, gated(i == 0 ? 40 : 400, gate)));
    }
    ASSERT_TRUE(eventually([this] { return recorded(m_shop).size() == 3; }));
    // `graphdoctor run` itself; its command goes on alone, and ends before the others.
    ASSERT_EQ(kill(pids[0], SIGKILL), 0);
    EXPECT_EQ(Workshop::wait(pids[0]), 128 + SIGKILL);
    for (int i = 0; i < 3; ++i)
        open(m_shop.path("gate." + std::to_string(i)));
    EXPECT_EQ(Workshop::wait(pids[1]), 0);
    EXPECT_EQ(Workshop::wait(pids[2]), 0);
    expectOneReport(errors(3), 2);
    EXPECT_EQ(ask(m_shop, "SELECT count(*) FROM process"), "3");
    EXPECT_EQ(ask(m_shop,
                  "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM step GROUP BY process_id ORDER "
                  "BY n DESC LIMIT 2)"),
        "\"400,400\"");
    expectNothingLost(m_shop);
}

bool hasMpirun() {
    return std::system("command -v mpirun >/dev/null 2>&1") == 0;
}

class OpenMpi : public Launcher {
protected:
    void SetUp() override {
        if (!hasMpirun())
            GTEST_SKIP() << "mpirun (Debian package openmpi-bin) is not installed";
        // As root, and with more ranks than cores.
        m_shop.variables.insert({{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
            {"OMPI_MCA_rmaps_base_oversubscribe", "1"}});
    }
    void expectFourRanks() {
        EXPECT_EQ(
            ask(m_shop, "SELECT count(*), count(DISTINCT rank), max(world_size) FROM process"), "4,4,4");
        EXPECT_EQ(
            ask(m_shop, "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM step GROUP BY process_id)"),
            "20,20");
        expectNothingLost(m_shop);
    }
};

TEST_F(OpenMpi, AroundRuns) {
    const ProgramEnd end = m_shop.run(std::vector<std::string>{"mpirun", "-n", "4"}
        + graphdoctor({"run", "-o", m_shop.file("x.gdt"), "--"}) + trainer(20));
    EXPECT_EQ(end.status, 0) << end.err;
    expectOneReport(end.err, 4);
    expectFourRanks();
}

TEST_F(OpenMpi, InsideARun) {
    const ProgramEnd end = m_shop.run(
        graphdoctor({"run", "-o", m_shop.file("x.gdt"), "--", "mpirun", "-n", "4"}) + trainer(20));
    EXPECT_EQ(end.status, 0) << end.err;
    expectOneReport(end.err, 1);
    expectFourRanks();
}

// GD_RUN_KILLS=200 for the full count.
int kills() {
    const char* wanted = std::getenv("GD_RUN_KILLS");
    return wanted != nullptr ? std::atoi(wanted) : 6;
}

TEST(Kills, OfARecordedProcessLeaveItsTrace) {
    std::mt19937 random(20261130);
    for (int i = 0; i < kills() && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE("kill " + std::to_string(i));
        const Workshop shop;
        const pid_t run = shop.start(
            graphdoctor({"run", "-o", shop.file("x.gdt"), "--no-report", "--"}) + trainer(1'000'000));
        ASSERT_TRUE(eventually([&shop] { return !recorded(shop).empty(); }));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
        ASSERT_EQ(kill(recorded(shop).front(), SIGKILL), 0);
        EXPECT_EQ(Workshop::wait(run), 128 + SIGKILL);
        EXPECT_EQ(ask(shop, "SELECT exit_signal FROM process"), "9");
        expectNothingLost(shop);
        EXPECT_TRUE(shop.spools().empty());
    }
}

TEST(Kills, OfRunItselfLeaveASpoolThatCanBeImported) {
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    std::mt19937 random(20261201);
    int imported = 0;
    for (int i = 0; i < kills() && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE("kill " + std::to_string(i));
        const Workshop shop;
        const pid_t run = shop.start(graphdoctor({"run", "-o", shop.file("x.gdt"), "--"}) + trainer(300));
        if (i % 4 != 0) {
            ASSERT_TRUE(eventually([&shop] { return !recorded(shop).empty(); }));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 150'000));
        kill(run, SIGKILL);
        Workshop::wait(run);
        // The command goes on alone, as a child of this process now, and so does its record.
        while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) { }
        EXPECT_LE(fs::exists(shop.path("x.gdt")) + shop.spools().size(), 2u);
        if (fs::exists(shop.path("x.gdt"))) { // the kill came after the import: the trace is whole
            expectNothingLost(shop, "x.gdt");
            EXPECT_EQ(ask(shop, "SELECT count(*) FROM step", "x.gdt"), "300");
            ++imported;
            continue;
        }
        if (recorded(shop).empty())
            continue;
        const ProgramEnd import
            = shop.run(graphdoctor({"import", shop.spools().front().string(), "-o", shop.file("y.gdt")}));
        EXPECT_EQ(import.status, 0) << import.err;
        expectNothingLost(shop, "y.gdt");
        EXPECT_EQ(ask(shop, "SELECT count(*) FROM step", "y.gdt"), "300");
        ++imported;
    }
    EXPECT_GT(imported, 0);
}

} // namespace
