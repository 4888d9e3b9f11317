// SPDX-License-Identifier: Apache-2.0
// `graphdoctor run` around commands that behave badly, and around itself being killed.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

using namespace gd::test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

ProgramEnd record(
    const Workshop& shop, const std::vector<std::string>& options, const std::vector<std::string>& command) {
    std::vector<std::string> all = graphdoctor({"run", "-o", shop.file("x.gdt")});
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return shop.run(all);
}

bool hasTrace(const Workshop& shop) {
    return fs::exists(shop.path("x.gdt"));
}

std::size_t lineCount(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Run, ACommandThatIsNotFoundGives127) {
    const Workshop shop;
    const ProgramEnd end = record(shop, {}, {"no-such-command"});
    EXPECT_EQ(end.status, 127);
    EXPECT_EQ(end.err, "graphdoctor run: no-such-command: command not found\n");
    EXPECT_FALSE(hasTrace(shop));
    EXPECT_TRUE(shop.spools().empty());
}

TEST(Run, ACommandThatIsNotExecutableGives126) {
    const Workshop shop;
    std::ofstream(shop.path("plain")) << "text";
    const ProgramEnd end = record(shop, {}, {shop.file("plain")});
    EXPECT_EQ(end.status, 126);
    EXPECT_THAT(end.err, HasSubstr("no permission to execute it"));
    EXPECT_EQ(lineCount(end.err), 1u);
    EXPECT_FALSE(hasTrace(shop));
}

TEST(Run, ASignalGives128PlusItsNumber) {
    const Workshop shop;
    EXPECT_EQ(record(shop, {}, {"sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
    EXPECT_TRUE(hasTrace(shop));
}

TEST(Run, TheJobKeepsItsStreamsAndStatus) {
    const Workshop shop;
    const ProgramEnd end = record(shop, {}, {"sh", "-c", "echo to-out; echo to-err >&2; exit 7"});
    EXPECT_EQ(end.status, 7);
    EXPECT_EQ(end.out, "to-out\n");
    EXPECT_TRUE(end.err.starts_with("to-err\n")) << end.err;
}

TEST(Run, ACommandWithoutARuntimeLeavesATraceThatSaysSo) {
    const Workshop shop;
    const ProgramEnd end = record(shop, {}, {"true"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(lineCount(end.err), 1u) << end.err;
    EXPECT_THAT(end.err, HasSubstr("used neither CUDA nor another runtime"));
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_FALSE(report["trace"]["runtime_seen"]);
    ASSERT_FALSE(report["issues"].empty());
    EXPECT_EQ(report["issues"][0]["code"], "no_runtime_seen");
    EXPECT_TRUE(shop.spools().empty());
    EXPECT_LT(fs::file_size(shop.path("x.gdt")), 256u * 1024); // a page a table, and nothing else
}

// The latest steps are judged, the earlier ones are known to have been there, and nothing is called a loss.
TEST(Run, KeepsTheLatestEventsOfALongJob) {
    const Workshop shop;
    const ProgramEnd end
        = shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--level", "full", "--keep-last", "1MB"},
            {"--steps", "1500", "--layers", "1", "--hidden", "32", "--seq-len", "16", "--micro-batch-size",
                "1"}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    const auto& issues = report["issues"];
    ASSERT_EQ(issues.size(), 1u) << issues;
    EXPECT_EQ(issues[0]["code"], "older_events_dropped");
    EXPECT_EQ(issues[0]["severity"], "info");
    for (const auto& finding : report["findings"]) // a busy machine may well start a replay late
        EXPECT_TRUE(finding["rule"].get<std::string>().starts_with("GD3")) << finding;
    const auto ask = [&shop](const std::string& sql) {
        const ProgramEnd answer
            = shop.run(graphdoctor({"query", shop.file("x.gdt"), sql, "--format", "csv"}));
        return answer.out.substr(answer.out.find('\n') + 1);
    };
    EXPECT_EQ(ask("SELECT count(*) FROM step"), "1500\n");
    EXPECT_EQ(ask("SELECT count(*) > 100 AND count(*) < 1400 FROM step WHERE kind = 'outside'"), "1\n");
    EXPECT_EQ(ask("SELECT count(*) FROM step AS s WHERE kind = 'steady' AND start_ns < (SELECT CAST(value AS "
                  "INTEGER) "
                  "FROM process_fact WHERE key = 'events_from_ns')"),
        "0\n");
    // Every step that is judged holds all its replays.
    EXPECT_EQ(ask("SELECT min(replays) = max(replays) AND min(replays) > 0 FROM step WHERE kind = 'steady'"),
        "1\n");
}

TEST(Run, AWindowOfRangesIsRecordedAndNothingElse) {
    const Workshop shop;
    ASSERT_EQ(
        shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--window", "^optimizer"}, {"--steps", "400"}))
            .status,
        0);
    const auto ask = [&shop](const std::string& sql) {
        const ProgramEnd answer
            = shop.run(graphdoctor({"query", shop.file("x.gdt"), sql, "--format", "csv"}));
        return answer.out.substr(answer.out.find('\n') + 1);
    };
    EXPECT_EQ(ask("SELECT level FROM recording_state ORDER BY rowid LIMIT 1"), "history\n");
    EXPECT_EQ(ask("SELECT count(*) > 0 FROM recording_state WHERE level = 'standard'"), "1\n");
    const ProgramEnd none = shop.run(
        recordTrainer({"-o", shop.file("y.gdt"), "--window", "^no such range"}, {"--steps", "20"}));
    EXPECT_EQ(none.status, 0);
    const auto issues = reportOf(shop, shop.file("y.gdt"))["issues"];
    ASSERT_EQ(issues.size(), 1u) << issues;
    EXPECT_EQ(issues[0]["code"], "window_never_opened");
}

TEST(Run, AGateThatCannotBeJudgedGives91) {
    const Workshop shop;
    EXPECT_EQ(record(shop, {"--fail-on", "error"}, {"true"}).status, 91);
    EXPECT_EQ(record(shop, {"--fail-on", "error", "--force"}, {"false"}).status, 1);
}

TEST(Run, AGateThatIsMetGives90) {
    const Workshop shop;
    const std::vector<std::string> fault = {GD_TRAINER, "--steps", "30", "--fault", "item-in-capture"};
    EXPECT_EQ(record(shop, {"--fail-on", "error"}, fault).status, 90);
    EXPECT_EQ(record(shop, {"--fail-on", "never", "--force"}, fault).status, 0);
}

TEST(Run, AnExistingTraceIsNotOverwritten) {
    const Workshop shop;
    std::ofstream(shop.path("x.gdt")) << "mine";
    const ProgramEnd refused = record(shop, {}, {"touch", shop.file("ran")});
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, HasSubstr("exists; --force overwrites it"));
    EXPECT_FALSE(fs::exists(shop.path("ran"))) << "refused before the job starts";
    EXPECT_EQ(readFile(shop.path("x.gdt")), "mine");
    EXPECT_EQ(record(shop, {"--force"}, {"true"}).status, 0);
    EXPECT_NE(readFile(shop.path("x.gdt")), "mine");
}

TEST(Run, AnOutputThatCannotBeWrittenIsRefusedBeforeTheJob) {
    const Workshop shop;
    const ProgramEnd end
        = shop.run(graphdoctor({"run", "-o", "/proc/x.gdt", "--", "touch", shop.file("ran")}));
    EXPECT_EQ(end.status, 3);
    EXPECT_EQ(lineCount(end.err), 1u) << end.err;
    const ProgramEnd report = record(shop, {"--report", "json=/proc/x.json"}, {"touch", shop.file("ran")});
    EXPECT_EQ(report.status, 3);
    EXPECT_FALSE(fs::exists(shop.path("ran")));
    EXPECT_TRUE(shop.spools().empty());
}

TEST(Run, VariablesOfAnotherToolAreKeptAndSaid) {
    Workshop shop;
    shop.variables["NVTX_INJECTION64_PATH"] = "/opt/other.so";
    const ProgramEnd end = record(shop, {}, {"sh", "-c", "echo $NVTX_INJECTION64_PATH"});
    EXPECT_EQ(end.out, "/opt/other.so\n");
    if (end.err.find("NVTX_INJECTION64_PATH") == std::string::npos)
        GTEST_SKIP() << "this collector was built without NVTX";
    EXPECT_THAT(end.err, HasSubstr("is kept: NVTX ranges are not recorded"));
    bool told = false;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    for (const auto& issue : report["issues"])
        told = told || issue["code"] == "variable_kept";
    EXPECT_TRUE(told);
}

TEST(Run, ReportsGoWhereTheyWereSent) {
    const Workshop shop;
    const ProgramEnd end
        = record(shop, {"--report", "json=" + shop.file("r.json"), "--report", "markdown=-", "--no-report"},
            {GD_TRAINER, "--steps", "20", "--quiet"});
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.out, HasSubstr("# GraphDoctor"));
    EXPECT_THAT(end.err, Not(HasSubstr("Vital signs")));
    EXPECT_EQ(nlohmann::json::parse(readFile(shop.path("r.json")))["schema"], "graphdoctor.report/1");
}

TEST(Run, ReportsGoThroughPipesAndLinks) {
    const Workshop shop;
    ASSERT_EQ(mkfifo(shop.path("pipe").c_str(), 0600), 0);
    fs::create_symlink(shop.path("real.json"), shop.path("link.json"));
    const ProgramEnd end = shop.run({"sh", "-c",
        std::string("cat pipe & ") + GD_GRAPHDOCTOR
            + " run --no-report -o x.gdt --report json=pipe --report json=link.json"
              " --report markdown=/dev/stderr -- true; wait"});
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(nlohmann::json::parse(end.out)["schema"], "graphdoctor.report/1");
    EXPECT_THAT(end.err, HasSubstr("# GraphDoctor"));
    EXPECT_TRUE(fs::is_fifo(shop.path("pipe")));
    EXPECT_TRUE(fs::is_symlink(shop.path("link.json")));
    EXPECT_EQ(nlohmann::json::parse(readFile(shop.path("real.json")))["schema"], "graphdoctor.report/1");
}

TEST(Run, RulesAndParametersAreCheckedBeforeTheJob) {
    const Workshop shop;
    const std::vector<std::string> job = {"touch", shop.file("ran")};
    EXPECT_EQ(record(shop, {"--param", "no_such_parameter=1"}, job).status, 2);
    EXPECT_EQ(record(shop, {"--rules", shop.file("none")}, job).status, 3);
    EXPECT_FALSE(fs::exists(shop.path("ran")));
    EXPECT_TRUE(shop.spools().empty());
}

TEST(Run, RunsOfOneSecondGetNamesOfTheirOwn) {
    const Workshop shop;
    const std::string run = std::string(GD_GRAPHDOCTOR) + " run --no-report -- true";
    const ProgramEnd end = shop.run(
        {"sh", "-c", run + " && " + run + " && " + run + " && " + run + " & " + run + "; wait $!"});
    EXPECT_EQ(end.status, 0) << end.err;
    std::size_t traces = 0;
    for (const auto& entry : fs::directory_iterator(shop.path(".")))
        traces += entry.path().extension() == ".gdt" ? 1u : 0u;
    EXPECT_EQ(traces, 5u) << end.err;
    EXPECT_TRUE(shop.spools().empty());
}

TEST(Run, ASpoolThatTheJobRemovedIsSaidToBeLost) {
    const Workshop shop;
    const ProgramEnd end = record(shop, {}, {"sh", "-c", "rm -rf \"$GRAPHDOCTOR_SPOOL\""});
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.err, HasSubstr("the recording is lost"));
    EXPECT_THAT(end.err, Not(HasSubstr("graphdoctor import")));
}

TEST(Run, PrintsVariablesThatMakeAProcessRecord) {
    const Workshop shop;
    const std::string script = std::string("eval \"$(") + GD_GRAPHDOCTOR + " run --print-env -o "
        + shop.file("x.gdt") + ")\" && " + GD_TRAINER
        + " --steps 20 --quiet && echo spool=$GRAPHDOCTOR_SPOOL";
    const ProgramEnd end = shop.run({"sh", "-c", script});
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(end.err, HasSubstr("afterwards: graphdoctor import "));
    const std::string spool
        = end.out.substr(end.out.find("spool=") + 6, end.out.rfind('\n') - end.out.find("spool=") - 6);
    const ProgramEnd import = shop.run(graphdoctor({"import", spool, "-o", shop.file("x.gdt")}));
    EXPECT_EQ(import.status, 0) << import.err;
    EXPECT_TRUE(reportOf(shop, shop.file("x.gdt"))["trace"]["runtime_seen"]);
}

// Two runs of one launcher's job on this host; the first waits in its command until the second has begun.
TEST(Run, SiblingsMakeOneTrace) {
    Workshop shop;
    shop.variables.insert({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}});
    ASSERT_EQ(mkfifo(shop.file("fifo").c_str(), 0600), 0);
    const std::string trainer = std::string(GD_TRAINER) + " --steps 20 --quiet";
    const pid_t first = shop.start(graphdoctor(
        {"run", "-o", shop.file("x.gdt"), "--", "sh", "-c", trainer + "; read go < " + shop.file("fifo")}));
    shop.variables["SLURM_PROCID"] = "1";
    // Opening the fifo waits for the first one's reader: by then it has registered.
    const ProgramEnd second = record(shop, {}, {"sh", "-c", trainer + "; echo go > " + shop.file("fifo")});
    EXPECT_EQ(second.status, 0);
    EXPECT_EQ(Workshop::wait(first), 0);
    const std::string firstErr = readFile(shop.path("err"));
    // Whoever ended last wrote the trace; the other says so in one line.
    EXPECT_TRUE((firstErr.find("the last run of job 12.0 on this host writes") != std::string::npos)
        != (second.err.find("the last run of job 12.0 on this host writes") != std::string::npos))
        << firstErr << second.err;
    EXPECT_EQ(reportOf(shop, shop.file("x.gdt"))["processes"].size(), 2u);
    EXPECT_TRUE(shop.spools().empty());
}

TEST(Run, KilledItselfLeavesWhatAnImportRecovers) {
    const Workshop shop;
    ASSERT_EQ(mkfifo(shop.file("fifo").c_str(), 0600), 0);
    const pid_t run = shop.start(graphdoctor({"run", "-o", shop.file("x.gdt"), "--", "sh", "-c",
        std::string(GD_TRAINER) + " --steps 20 --quiet; echo done > " + shop.file("fifo") + "; sleep 100"}));
    readFile(shop.path("fifo")); // the trainer has ended, the command has not
    pid_t job = 0;
    { // the command's group, to end it afterwards
        std::ifstream children("/proc/" + std::to_string(run) + "/task/" + std::to_string(run) + "/children");
        children >> job;
    }
    kill(run, SIGKILL);
    EXPECT_EQ(Workshop::wait(run), 128 + SIGKILL);
    if (job > 0)
        kill(-job, SIGKILL);
    EXPECT_FALSE(hasTrace(shop));
    ASSERT_EQ(shop.spools().size(), 1u);
    const std::string spool = shop.spools()[0].string();

    // The next run names it, with the command that was tried here.
    const ProgramEnd next = shop.run(graphdoctor({"run", "-o", shop.file("y.gdt"), "--", "true"}));
    EXPECT_THAT(next.err, HasSubstr("graphdoctor import " + spool + " -o " + shop.file("x.gdt")));

    const ProgramEnd import = shop.run(graphdoctor({"import", spool, "-o", shop.file("x.gdt")}));
    EXPECT_EQ(import.status, 0) << import.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_EQ(report["trace"]["exit_status"], nullptr);
    EXPECT_GE(report["trace"]["steps"]["count"], 10);
    // Imported, it is rubbish that the next run takes away.
    EXPECT_EQ(shop.run(graphdoctor({"run", "-o", shop.file("z.gdt"), "--", "true"})).status, 0);
    EXPECT_TRUE(shop.spools().empty());
    EXPECT_TRUE(
        fs::is_empty(shop.path("run")) || fs::is_empty(fs::directory_iterator(shop.path("run"))->path()));
}

TEST(Run, ASignalReachesTheJobAndTheReportStillComes) {
    const Workshop shop;
    ASSERT_EQ(mkfifo(shop.file("fifo").c_str(), 0600), 0);
    const pid_t run = shop.start(graphdoctor({"run", "-o", shop.file("x.gdt"), "--", "sh", "-c",
        std::string(GD_TRAINER) + " --steps 20 --quiet; trap 'exit 9' INT; echo ready > " + shop.file("fifo")
            + "; while :; do sleep 0.01; done"}));
    readFile(shop.path("fifo"));
    kill(run, SIGINT);
    EXPECT_EQ(Workshop::wait(run), 9);
    EXPECT_TRUE(hasTrace(shop));
    EXPECT_THAT(readFile(shop.path("err")), HasSubstr("Vital signs"));
}

TEST(Run, AJobThatIsKilledIsReported) {
    const Workshop shop;
    const ProgramEnd end
        = record(shop, {}, {"sh", "-c", std::string(GD_TRAINER) + " --steps 20 --quiet; kill -9 $$"});
    EXPECT_EQ(end.status, 137);
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_EQ(report["trace"]["exit_signal"], 9);
    EXPECT_GE(report["trace"]["steps"]["count"], 10);
}

// A file system of 256 KiB, in a namespace of its own.
TEST(Run, AFullDiskKeepsTheRecordingAndTellsHowToImportIt) {
    const Workshop shop;
    fs::create_directory(shop.path("small"));
    if (shop.run({"unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", shop.file("small")})
            .status
        != 0)
        GTEST_SKIP() << "this machine refuses a tmpfs in a user namespace";
    const std::string script = "mount -t tmpfs -o size=256k tmpfs " + shop.file("small") + " && "
        + GD_GRAPHDOCTOR + " run --fail-on error -o " + shop.file("small/x.gdt") + " -- " + GD_TRAINER
        + " --steps 40 --quiet; status=$?; ls -A " + shop.file("small") + "; exit $status";
    const ProgramEnd end = shop.run({"unshare", "-rm", "sh", "-c", script});
    EXPECT_EQ(end.status, 91) << end.err;
    EXPECT_EQ(end.out, "") << "half a trace was left behind";
    EXPECT_THAT(end.err, HasSubstr(shop.file("small/x.gdt")));
    EXPECT_THAT(end.err, HasSubstr("the recording is kept; graphdoctor import "));
    ASSERT_EQ(shop.spools().size(), 1u);
    const ProgramEnd import
        = shop.run(graphdoctor({"import", shop.spools()[0].string(), "-o", shop.file("x.gdt")}));
    EXPECT_EQ(import.status, 0) << import.err;
    EXPECT_GE(reportOf(shop, shop.file("x.gdt"))["trace"]["steps"]["count"], 30);
}

TEST(Run, RedactedTracesNameNeitherHostNorFolder) {
    const Workshop shop;
    const ProgramEnd end
        = record(shop, {"--redact", "--no-report"}, {GD_TRAINER, "--steps", "20", "--quiet"});
    ASSERT_EQ(end.status, 0) << end.err;
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const auto process = reportOf(shop, shop.file("x.gdt"))["processes"][0];
    EXPECT_NE(process["host"], host);
    EXPECT_THAT(process["command_line"], testing::EndsWith("reference-trainer --steps 20 --quiet"));
    EXPECT_EQ(
        readFile(shop.path("x.gdt")).find(fs::path(GD_TRAINER).parent_path().string()), std::string::npos);
}

} // namespace
