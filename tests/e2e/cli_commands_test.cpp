// SPDX-License-Identifier: Apache-2.0
// The command line: names, streams, statuses, and one clear sentence for everything that is wrong.
#include "tests/e2e/program.h"
#include "tests/unit/report/schema_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

using namespace gd::test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

// One trace for all tests of this program: reading it does not change it.
class Commands : public testing::Test {
protected:
    static void SetUpTestSuite() {
        s_shop = new Workshop;
        const ProgramEnd end = s_shop->run(recordTrainer(
            {"-o", s_shop->file("x.gdt"), "--no-report"}, {"--steps", "40", "--fault", "item-in-capture"}));
        ASSERT_EQ(end.status, 0) << end.err;
    }
    static void TearDownTestSuite() {
        delete s_shop;
        s_shop = nullptr;
    }
    static ProgramEnd call(const std::vector<std::string>& arguments) {
        return s_shop->run(graphdoctor(arguments));
    }
    static std::string trace() { return s_shop->file("x.gdt"); }

    static Workshop* s_shop;
};
Workshop* Commands::s_shop = nullptr;

// Status, nothing on stdout, and one line on stderr that holds `part`.
void expectRefusal(const ProgramEnd& end, int status, const std::string& part) {
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
    EXPECT_THAT(end.err, HasSubstr(part));
}

TEST_F(Commands, HelpAndVersionGoToStdout) {
    EXPECT_THAT(call({"--version"}).out, testing::StartsWith("graphdoctor "));
    EXPECT_THAT(call({"help"}).out, HasSubstr("Commands:"));
    for (const std::string name :
        {"run", "report", "compare", "import", "export", "merge", "rules", "query", "env"}) {
        const ProgramEnd byFlag = call({name, "--help"});
        EXPECT_EQ(byFlag.status, 0);
        EXPECT_THAT(byFlag.out, HasSubstr("Examples:"));
        EXPECT_EQ(call({"help", name}).out, byFlag.out);
    }
    EXPECT_THAT(call({"rules", "test", "--help"}).out, HasSubstr("Run the tests inside rule files"));
}

TEST_F(Commands, WrongUsageIsOneSentenceAndStatus2) {
    expectRefusal(call({}), 2, "a command is expected");
    expectRefusal(call({"reprot", "x"}), 2, "did you mean report?");
    expectRefusal(call({"reduce"}), 2, "reduce is not a command");
    expectRefusal(call({"help", "nothing"}), 2, "nothing is not a command");
    expectRefusal(call({"report"}), 2, "TRACE");
    expectRefusal(call({"report", trace(), "--nonsense"}), 2, "--nonsense");
    expectRefusal(
        call({"report", trace(), "--format", "pdf"}), 2, "text, json, markdown, html, sarif, junit, github");
    expectRefusal(call({"report", trace(), "--fail-on", "maybe"}), 2, "maybe");
    expectRefusal(call({"report", trace(), trace()}), 2, "one trace is expected");
    expectRefusal(call({"report", trace(), "--steps", "9:3"}), 2, "the first step is after the last");
    expectRefusal(call({"report", trace(), "--steps", "x"}), 2, "A:B");
    expectRefusal(call({"report", trace(), "--rank", "77"}), 2, "no process of this trace has rank 77");
    expectRefusal(call({"report", trace(), "--param", "no_such=1"}), 2, "no_such");
    expectRefusal(call({"rules"}), 2, "subcommand");
    expectRefusal(call({"rules", "show", "GD000"}), 2, "there is no rule GD000");
    expectRefusal(call({"query", trace()}), 2, "SQL");
    expectRefusal(call({"query", trace(), "SELEC 1"}), 2, "SELEC");
    expectRefusal(call({"run"}), 2, "a command is expected");
    expectRefusal(call({"run", "--levle", "full", "--", "true"}), 2, "--levle");
    expectRefusal(call({"run", "--level", "off", "--", "true"}), 2, "off");
    expectRefusal(call({"run", "--keep-last", "some", "--", "true"}), 2, "a duration such as 60s or a size");
    expectRefusal(call({"run", "--keep-last", "0s", "--", "true"}), 2, "nothing would be kept");
    expectRefusal(call({"run", "--keep-last", "1kB", "--", "true"}), 2, "--keep-last 1kB: at least 1MB");
    expectRefusal(call({"run", "--max-size", "0B", "--", "true"}), 2, "--max-size 0B: at least 1MB");
    expectRefusal(call({"run", "--window", "(", "--", "true"}), 2, "--window (: while the job runs");
    expectRefusal(call({"run", "--window", "x", "--delay", "1s", "--", "true"}), 2, "--window excludes");
    expectRefusal(call({"query", trace(), "SELECT 1", "--time-limit", "soon"}), 2, "--time-limit");
    expectRefusal(call({"run", "--report", "pdf", "--", "true"}), 2, "pdf is no report format");
    expectRefusal(call({"run", "-o", "%z.gdt", "--", "true"}), 2, "after % one of");
    expectRefusal(call({"run", "--max-size", "many", "--", "true"}), 2, "--max-size");
    expectRefusal(call({"run", "--step-range", "(", "--", "true"}), 2, "regular expression");
}

TEST_F(Commands, AQueryThatNeverEndsIsStopped) {
    const std::string endless
        = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    expectRefusal(call({"query", trace(), endless, "--time-limit", "200ms"}), 3,
        "stopped after 200ms; --time-limit allows more");
    EXPECT_EQ(call({"query", trace(), "SELECT 1"}).status, 0);
}

TEST_F(Commands, BadTracesAreOneSentenceAndStatus3) {
    const auto bad = [&](const std::string& name, const std::string& bytes) {
        std::ofstream(s_shop->path(name), std::ios::binary) << bytes;
        return s_shop->file(name);
    };
    for (const std::string command : {"report", "query"}) {
        const auto open = [&](const std::string& file) {
            return command == "report" ? call({"report", file}) : call({"query", file, "SELECT 1"});
        };
        expectRefusal(open(s_shop->file("missing.gdt")), 3, "missing.gdt");
        expectRefusal(open(s_shop->file("")), 3, s_shop->file(""));
        expectRefusal(open(bad("empty.gdt", "")), 3, "empty.gdt");
        expectRefusal(open(bad("text.gdt", "this is not a trace, it is a line of text\n")), 3, "text.gdt");
        std::string cut = readFile(trace());
        cut.resize(cut.size() / 2);
        const ProgramEnd end = open(bad("cut.gdt", cut));
        EXPECT_EQ(end.status, 3) << end.err;
        EXPECT_THAT(end.err, HasSubstr("cut.gdt"));
    }
}

TEST_F(Commands, CompareTellsADifferenceAndARegression) {
    const ProgramEnd made
        = s_shop->run(recordTrainer({"-o", s_shop->file("healthy.gdt"), "--no-report"}, {"--steps", "40"}));
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string healthy = s_shop->file("healthy.gdt");
    const auto threshold = [&](const std::string& failOn, const std::string& wish) {
        const auto out = call(
            {"compare", healthy, healthy, "--format", "json", "--fail-on", failOn, "--threshold", wish})
                             .out;
        return nlohmann::json::parse(out)["threshold_percent"].get<double>();
    };
    EXPECT_DOUBLE_EQ(threshold("regression:1", "2"), 1); // what counts as nothing could not fail
    EXPECT_DOUBLE_EQ(threshold("regression:1", "0.5"), 0.5);
    EXPECT_DOUBLE_EQ(threshold("never", "3"), 3);
    // The same trace twice: nothing differs.
    const ProgramEnd same
        = call({"compare", healthy, healthy, "--format", "json", "--fail-on", "regression"});
    EXPECT_EQ(same.status, 0) << same.err;
    const auto json = nlohmann::json::parse(same.out);
    EXPECT_EQ(json["schema"], "graphdoctor.compare/1");
    EXPECT_EQ(json["alignment"]["pairs"].size(), 40u);
    for (const auto& difference : json["differences"])
        EXPECT_TRUE(difference["change"] == "same" || difference["change"] == "unknown") << difference.dump();
    const ProgramEnd worse = call({"compare", healthy, trace(), "--fail-on", "regression:1000"});
    EXPECT_EQ(worse.status, 1) << worse.err;
    EXPECT_THAT(worse.err, HasSubstr("new error: GD101"));
    EXPECT_THAT(worse.out, HasSubstr("Findings of the new trace only"));
    EXPECT_EQ(call({"compare", trace(), healthy, "--fail-on", "regression:1000"}).status, 0);
    expectRefusal(call({"compare", trace()}), 2, "NEW");
    expectRefusal(call({"compare", trace(), healthy, "--fail-on", "regression:x"}), 2, "regression:PERCENT");
    expectRefusal(call({"compare", trace(), s_shop->file("missing.gdt")}), 3, "missing.gdt");
}

TEST_F(Commands, MergeRefusesWhatIsNotOneJob) {
    const std::string out = s_shop->file("merged.gdt");
    expectRefusal(call({"merge", trace(), "-o", out}), 2, "two traces or more");
    expectRefusal(call({"merge", trace(), trace(), "-o", out}), 2, "named twice");
    expectRefusal(call({"merge", trace(), s_shop->file("missing.gdt"), "-o", out}), 3, "missing.gdt");
    EXPECT_FALSE(fs::exists(out));
}

TEST_F(Commands, AnOutputThatIsReadTooOrIsNoRegularFileIsLeftAlone) {
    const std::string copy = s_shop->file("copy.gdt");
    fs::copy_file(trace(), copy, fs::copy_options::overwrite_existing);
    const std::string pipe = s_shop->file("merge.pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    expectRefusal(call({"report", copy, "-o", copy}), 2, "to be read and to be written");
    expectRefusal(call({"compare", trace(), copy, "-o", copy}), 2, "to be read and to be written");
    expectRefusal(call({"merge", trace(), copy, "-o", copy, "--force"}), 2, "to be read and to be written");
    expectRefusal(call({"merge", trace(), copy, "-o", pipe, "--force"}), 3, "not a regular file");
    expectRefusal(call({"compare", trace(), copy, "--threshold", "nan"}), 2, "not a number");
    EXPECT_EQ(fs::file_size(copy), fs::file_size(trace()));
    EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Commands, BadSpoolsAreOneSentenceAndStatus3) {
    fs::create_directory(s_shop->path("nothing"));
    expectRefusal(call({"import", s_shop->file("nothing"), "-o", s_shop->file("n.gdt")}), 3, "nothing");
    expectRefusal(call({"import", s_shop->file("absent"), "-o", s_shop->file("n.gdt")}), 3, "absent");
    EXPECT_FALSE(fs::exists(s_shop->path("n.gdt")));
    expectRefusal(call({"import", s_shop->file("nothing"), "-o", trace()}), 3, "--force");
}

TEST_F(Commands, ReportExitsWith1AtTheThreshold) {
    EXPECT_EQ(call({"report", trace()}).status, 1);
    EXPECT_EQ(call({"report", trace(), "--fail-on", "never"}).status, 0);
    const ProgramEnd toFile = call({"report", trace(), "--format", "sarif", "-o", s_shop->file("r.sarif")});
    EXPECT_EQ(toFile.status, 1);
    EXPECT_EQ(toFile.out, "");
    EXPECT_EQ(nlohmann::json::parse(readFile(s_shop->path("r.sarif")))["version"], "2.1.0");
}

TEST_F(Commands, RealJsonReportsFollowTheSchema) {
    const auto schema = nlohmann::json::parse(readFile(GD_REPORT_SCHEMA));
    const auto report = nlohmann::json::parse(call({"report", trace(), "--format", "json"}).out);
    EXPECT_THAT(gd::test::schemaViolations(schema, report), testing::IsEmpty());
    const auto filtered
        = nlohmann::json::parse(call({"report", trace(), "--format", "json", "--steps", "0:5"}).out);
    EXPECT_THAT(gd::test::schemaViolations(schema, filtered), testing::IsEmpty());
}

TEST_F(Commands, EveryFormatIsDeterministic) {
    for (const std::string format : {"text", "json", "markdown", "html", "sarif", "junit", "github"}) {
        const ProgramEnd once = call({"report", trace(), "--format", format});
        EXPECT_FALSE(once.out.empty());
        EXPECT_EQ(once.out, call({"report", trace(), "--format", format}).out);
    }
}

TEST_F(Commands, ColourComesOnlyWhenAsked) {
    EXPECT_THAT(call({"report", trace()}).out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(call({"report", trace(), "--color", "always"}).out, HasSubstr("\x1b["));
}

TEST_F(Commands, QueryHasThreeFormats) {
    const std::string sql = "SELECT 1 AS one, 'a,\"b' AS two, NULL AS three";
    EXPECT_EQ(call({"query", trace(), sql, "--format", "csv"}).out, "one,two,three\n1,\"a,\"\"b\",\n");
    EXPECT_EQ(nlohmann::json::parse(call({"query", trace(), sql, "--format", "json"}).out),
        nlohmann::json::parse(R"([{"one":1,"two":"a,\"b","three":null}])"));
    EXPECT_EQ(call({"query", trace(), sql}).out, "one  two   three\n---  ----  -----\n  1  a,\"b   NULL\n");
    EXPECT_EQ(
        nlohmann::json::parse(call({"query", trace(), "SELECT 1 WHERE 0", "--format", "json"}).out).size(),
        0u);
    // A join gives columns of one name: none is lost.
    const std::string twice = "SELECT 1 AS a, 2 AS a, 3 AS 'a:2', 4 AS a";
    EXPECT_EQ(nlohmann::json::parse(call({"query", trace(), twice, "--format", "json"}).out),
        nlohmann::json::parse(R"([{"a":1,"a:2":2,"a:2:2":3,"a:3":4}])"));
}

TEST_F(Commands, QueryReadsAndDoesNothingElse) {
    const std::string before = readFile(trace());
    for (const std::string sql : {"DELETE FROM meta", "ATTACH '/tmp/x.db' AS x", "PRAGMA user_version = 9",
             "CREATE TABLE t(a)", "SELECT 1; SELECT 2", "SELECT load_extension('x')"}) {
        const ProgramEnd end = call({"query", trace(), sql});
        EXPECT_EQ(end.status, 2) << sql << end.err;
        EXPECT_EQ(end.out, "");
    }
    EXPECT_EQ(readFile(trace()), before);
}

TEST_F(Commands, ExportWritesTheSameToAFileAndToStdout) {
    const std::string file = s_shop->file("x.json");
    const ProgramEnd toFile = call({"export", trace(), "-o", file});
    EXPECT_EQ(toFile.status, 0) << toFile.err;
    EXPECT_EQ(toFile.out, "");
    EXPECT_THAT(toFile.err, HasSubstr("x.json: "));
    const std::string text = readFile(file);
    EXPECT_EQ(call({"export", trace()}).out, text);
    EXPECT_EQ(call({"export", trace(), "--format", "perfetto"}).out, text);
    std::map<std::string, int> categories;
    const auto json = nlohmann::json::parse(text);
    for (const auto& event : json["traceEvents"])
        ++categories[event.value("cat", "")];
    for (const char* category : {"cuda_runtime", "kernel", "capture", "step", "finding", "ac2g"})
        EXPECT_GT(categories[category], 0) << category;
    EXPECT_EQ(call({"export", trace(), "--no-findings"}).out.find("\"cat\":\"finding\""), std::string::npos);
    EXPECT_THAT(call({"export", trace(), "--format", "csv"}).out, testing::StartsWith("kind,process,"));
    expectRefusal(call({"export", trace(), "--steps", "900:"}), 2, "no step from 900 on; the trace has");
    expectRefusal(call({"export", trace(), "-o", trace()}), 2, "to be read and to be written");
    expectRefusal(call({"export", s_shop->file("missing.gdt"), "-o", file}), 3, "missing.gdt");
    EXPECT_EQ(readFile(file), text); // what failed left the older file alone
}

TEST_F(Commands, RulesAreListedShownAndTested) {
    const ProgramEnd list = call({"rules", "list"});
    EXPECT_EQ(list.status, 0) << list.err;
    EXPECT_THAT(list.out, HasSubstr("GD101  error"));
    EXPECT_THAT(call({"rules", "show", "gd101"}).out, testing::StartsWith("-- rule: GD101"));
    EXPECT_EQ(call({"rules", "test", "GD101"}).status, 0);
    const auto json = nlohmann::json::parse(call({"rules", "list", "--format", "json"}).out);
    EXPECT_FALSE(json.empty());
}

TEST_F(Commands, ARuleOfTheUserJoinsTheOthers) {
    fs::create_directories(s_shop->path("mine"));
    std::ofstream(s_shop->path("mine/GD901-has-process.sql")) << R"(-- SPDX-License-Identifier: Apache-2.0
-- rule: GD901 has-process
-- title: The trace has a process
-- severity: info
-- impact: none
-- confidence: high
-- root: none
-- needs: callbacks>=partial
-- why: It shows that rules can be added.
-- fix: Nothing.
-- source: This test.
-- message: process {pid}
SELECT process_id, start_ns, end_ns, pid FROM process WHERE pid > 0;
-- test: fires for a process
INSERT INTO process(process_id, pid, role, start_ns, end_ns, ended) VALUES (1, 7, 'primary', 0, 1, 'closed');
-- expect: process 7
-- test: quiet without one
INSERT INTO process(process_id, pid, role, start_ns, end_ns, ended) VALUES (1, 0, 'primary', 0, 1, 'closed');
-- expect: none
)";
    EXPECT_EQ(call({"rules", "test", s_shop->file("mine/GD901-has-process.sql")}).status, 0)
        << call({"rules", "test", s_shop->file("mine/GD901-has-process.sql")}).out;
    EXPECT_THAT(call({"report", trace(), "--rules", s_shop->file("mine")}).out, HasSubstr("GD901 info"));
}

TEST_F(Commands, ABrokenRuleOfTheUserHidesNothing) {
    fs::create_directories(s_shop->path("broken"));
    std::ofstream(s_shop->path("broken/GD902-broken.sql")) << "-- rule: GD902 broken\nSELECT\n";
    const ProgramEnd end = call({"report", trace(), "--rules", s_shop->file("broken")});
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.out, HasSubstr("GD101 error"));
    EXPECT_THAT(end.out, HasSubstr("GD902-broken.sql"));
    EXPECT_EQ(call({"rules", "list", "--rules", s_shop->file("broken")}).status, 3);
    expectRefusal(call({"report", trace(), "--rules", s_shop->file("no-folder")}), 3, "no-folder");
}

TEST_F(Commands, EnvTellsWhatTheMachineOffers) {
    const auto json = nlohmann::json::parse(call({"env", "--format", "json"}).out);
    EXPECT_EQ(json["schema"], "graphdoctor.env/1");
    EXPECT_TRUE(json["installation"]["collector_found"]);
    EXPECT_TRUE(json["installation"]["sources"]["host_runtime"]);
    EXPECT_TRUE(json["installation"]["rules_found"]);
    EXPECT_THAT(call({"env"}).out, HasSubstr("installation"));
}

TEST_F(Commands, AReaderThatGoesAwayIsNoError) {
    const ProgramEnd end = s_shop->run({"sh", "-c",
        std::string(GD_GRAPHDOCTOR) + " query " + trace()
            + " \"SELECT a.line FROM stack_frame AS a, stack_frame AS b, stack_frame AS c\" --format csv | "
              "head -n 1 > /dev/null; echo "
              "${PIPESTATUS:-ok}"});
    EXPECT_EQ(end.err, "");
}

} // namespace
