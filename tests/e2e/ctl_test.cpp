// SPDX-License-Identifier: Apache-2.0
// `graphdoctor ctl` on a running trainer.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <ctime>

using namespace gd::test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

ProgramEnd ctl(const Workshop& shop, const std::vector<std::string>& words) {
    std::vector<std::string> all = graphdoctor({"ctl"});
    all.insert(all.end(), words.begin(), words.end());
    return shop.run(all);
}

// A recorded trainer that runs until the test ends it.
class RunningJob {
public:
    explicit RunningJob(const std::vector<std::string>& options = {}) {
        std::vector<std::string> all = {"-o", m_shop.file("x.gdt")};
        all.insert(all.end(), options.begin(), options.end());
        m_pid = m_shop.start(recordTrainer(all, {"--steps", "1000000"}));
        waitFor([&] { return ctl(m_shop, {"x.gdt", "status"}).out.find("process ") != std::string::npos; });
    }
    ~RunningJob() { end(); }

    // Ends the job as Ctrl-C does, and waits for its report.
    void end() {
        if (m_pid > 0) {
            kill(m_pid, SIGINT);
            Workshop::wait(m_pid);
        }
        m_pid = 0;
    }
    const Workshop& shop() const { return m_shop; }
    pid_t pid() const { return m_pid; }
    ProgramEnd ask(const std::string& action) const { return ctl(m_shop, {"x.gdt", action}); }

    template <class Condition> static void waitFor(Condition condition) {
        for (int i = 0; i < 1000 && !condition(); ++i) {
            const timespec pause{0, 10'000'000};
            nanosleep(&pause, nullptr);
        }
    }

private:
    Workshop m_shop;
    pid_t m_pid = 0;
};

TEST(Ctl, SaysWhatARunningJobRecords) {
    const RunningJob job;
    const ProgramEnd status = job.ask("status");
    EXPECT_EQ(status.status, 0) << status.err;
    EXPECT_THAT(status.out, HasSubstr(job.shop().file("x.gdt")));
    EXPECT_THAT(status.out, HasSubstr("recording  on, level standard\n"));
    EXPECT_THAT(status.out, HasSubstr("running\n"));
    const ProgramEnd byPid = ctl(job.shop(), {std::to_string(job.pid()), "status"});
    EXPECT_EQ(
        byPid.out.substr(0, byPid.out.find("process")), status.out.substr(0, status.out.find("process")));
}

TEST(Ctl, StopsAndStarts) {
    const RunningJob job;
    EXPECT_EQ(job.ask("stop").err, "graphdoctor ctl: recording is stopped: only the history is recorded\n");
    EXPECT_THAT(job.ask("status").out, HasSubstr("stopped: only the history"));
    EXPECT_EQ(job.ask("start").err, "graphdoctor ctl: recording is on, level standard, window 1\n");
    EXPECT_EQ(ctl(job.shop(), {"x.gdt", "stop", "--off"}).err,
        "graphdoctor ctl: recording is off: nothing is recorded\n");
    EXPECT_EQ(ctl(job.shop(), {"x.gdt", "start", "--off"}).status, 2);
}

TEST(Ctl, ReportsWhatIsThereNow) {
    RunningJob job;
    const ProgramEnd now = job.ask("report");
    EXPECT_EQ(now.status, 0) << now.err;
    EXPECT_THAT(now.out, HasSubstr(job.shop().file("x.gdt")));
    EXPECT_THAT(now.out, HasSubstr("Overhead of recording"));
    EXPECT_THAT(now.out, Not(HasSubstr("now.gdt")));
    EXPECT_FALSE(fs::exists(job.shop().path("x.gdt"))) << "the job goes on";
    EXPECT_THAT(job.ask("status").out, HasSubstr("running"));
    job.end();
    EXPECT_TRUE(fs::exists(job.shop().path("x.gdt")));
}

// Steps go on while recording is off, so the trace can compare.
TEST(Ctl, AJobThatWasStoppedStatesWhatRecordingCost) {
    RunningJob job;
    const auto more = [&job](std::uintmax_t bytes) {
        const auto written = [&job] {
            std::uintmax_t sum = 0;
            for (const fs::path& spool : job.shop().spools()) {
                for (const auto& file : fs::directory_iterator(spool))
                    sum += file.path().extension() == ".events" ? file.file_size() : 0;
            }
            return sum;
        };
        const std::uintmax_t before = written();
        RunningJob::waitFor([&] {
            job.ask("flush");
            return written() > before + bytes;
        });
    };
    more(100'000);
    EXPECT_EQ(ctl(job.shop(), {"x.gdt", "stop", "--off"}).status, 0);
    more(4'000); // step ranges alone
    EXPECT_EQ(job.ask("start").status, 0);
    more(100'000);
    job.end();
    const auto report = reportOf(job.shop(), job.shop().file("x.gdt"));
    const auto& overhead = report["trace"]["overhead"];
    ASSERT_TRUE(overhead["ratio"].is_number()) << overhead;
    EXPECT_EQ(overhead["bare_means"], "off");
    EXPECT_GE(overhead["bare"]["steps"], 5);
    EXPECT_GE(overhead["recorded"]["steps"], 5);
    EXPECT_GT(overhead["ratio"], 0); // how large, a busy machine decides
    const ProgramEnd text = job.shop().run(graphdoctor({"report", "x.gdt", "--fail-on", "never"}));
    EXPECT_THAT(text.out, HasSubstr("Overhead of recording, measured in this run: "));
}

TEST(Ctl, ARunMeasuresItsOwnOverhead) {
    // As by default, but for the length of the stretches: 100 ms instead of 2 s.
    Workshop shop;
    std::vector<std::string> command = graphdoctor({"run", "-o", "x.gdt", "--", "env"});
    command.insert(command.end(),
        {"GRAPHDOCTOR_OVERHEAD=100000000", "GRAPHDOCTOR_POLL_MS=5", GD_TRAINER, "--steps", "1000000"});
    const pid_t pid = shop.start(command);
    std::string text;
    for (int seconds = 6; seconds <= 48 && text.find("measured in this run: ") == std::string::npos;
         seconds *= 2) { // a report of a growing trace is no cheap question
        const timespec pause{seconds, 0};
        nanosleep(&pause, nullptr);
        text = ctl(shop, {"x.gdt", "report"}).out;
    }
    kill(pid, SIGINT);
    Workshop::wait(pid);
    EXPECT_THAT(text, HasSubstr("Overhead of recording, measured in this run: "));
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_TRUE(report["trace"]["overhead"]["ratio"].is_number()) << report["trace"]["overhead"];
    EXPECT_EQ(report["trace"]["overhead"]["bare_means"], "history");
    const ProgramEnd why = shop.run(graphdoctor({"query", "x.gdt",
        "SELECT count(*) > 0 AS found FROM coverage WHERE reason LIKE 'left out for some moments%'",
        "--format", "csv"}));
    EXPECT_EQ(why.out, "found\n1\n");
}

TEST(Window, StepsAreRecordedFromToAndTheRestIsOutside) {
    const Workshop shop;
    const ProgramEnd end = shop.run(recordTrainer(
        {"-o", shop.file("x.gdt"), "--step-range", "^graphdoctor.step$", "--steps", "20:219", "--no-report"},
        {"--steps", "400"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto ask = [&shop](const std::string& sql) {
        const ProgramEnd answer
            = shop.run(graphdoctor({"query", shop.file("x.gdt"), sql, "--format", "csv"}));
        EXPECT_EQ(answer.status, 0) << answer.err;
        return answer.out.substr(answer.out.find('\n') + 1);
    };
    EXPECT_THAT(ask("SELECT group_concat(level || window, ' ') FROM recording_state"),
        HasSubstr("history0 standard1 history1"));
    // A busy machine may see the turns late, by many steps where it lets nobody look, but never early.
    EXPECT_EQ(
        ask("SELECT COUNT(*) > 5 AND MIN(step) >= 20 AND MAX(step) < 399 FROM step WHERE kind = 'steady'"),
        "1\n")
        << ask("SELECT step, kind FROM step");
    EXPECT_EQ(ask("SELECT MIN(time_ns) > (SELECT start_ns FROM step WHERE step = 219) FROM recording_state "
                  "WHERE level = 'history' AND window = 1"),
        "1\n");
    EXPECT_EQ(ask("SELECT COUNT(*) FROM step"), "400\n") << "the others are known, too";
    EXPECT_EQ(ask("SELECT COUNT(*) FROM kernel WHERE start_ns < (SELECT start_ns FROM step WHERE step = 19)"),
        "0\n");
}

TEST(Window, WrongWordsAreUsageErrors) {
    const Workshop shop;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--steps", "1:2"}, "--steps needs --step-range REGEX"},
        {{"--step-range", "x", "--steps", "3:1"}, "the first step is after the last"},
        {{"--step-range", "x", "--steps", "1:2", "--delay", "1s"}, "exclude each other"},
        {{"--delay", "5"}, "--delay"},
        {{"--duration", "0s"}, "nothing would be recorded"},
    };
    for (const auto& [options, sentence] : cases) {
        std::vector<std::string> all = graphdoctor({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"--", "touch", shop.file("ran")});
        const ProgramEnd end = shop.run(all);
        EXPECT_EQ(end.status, 2) << end.err;
        EXPECT_THAT(end.err, HasSubstr(sentence));
    }
    EXPECT_FALSE(fs::exists(shop.path("ran")));
}

TEST(Ctl, AWrongRunIsOneSentence) {
    const Workshop shop;
    const ProgramEnd end = ctl(shop, {"no.gdt", "stop"});
    EXPECT_EQ(end.status, 3);
    EXPECT_EQ(end.err, "graphdoctor ctl: no.gdt: no job of this user is being recorded on this host\n");
    const ProgramEnd help = ctl(shop, {"--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("graphdoctor ctl job.gdt status"));
}

} // namespace
