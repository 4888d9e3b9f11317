// SPDX-License-Identifier: Apache-2.0
// Whatever a command is given: one sentence that names it, the status of the contract, and nothing lost.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

using namespace gd::test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

// Two traces of recorded spools, and files that are none.
class Hostile : public testing::Test {
protected:
    static void SetUpTestSuite() {
        s_shop = new Workshop;
        for (const auto& [fixture, name] :
            {std::pair("h200-capture-cascade901", "a"), std::pair("h200-healthy", "b")}) {
            const fs::path spool = s_shop->path(std::string("spool-") + name);
            fs::copy(fs::path(GD_FIXTURES) / fixture / "spool", spool, fs::copy_options::recursive);
            fs::permissions(spool, fs::perms::owner_all);
            const ProgramEnd end = call({"import", spool.string(), "-o", file(std::string(name) + ".gdt")});
            ASSERT_EQ(end.status, 0) << end.err;
        }
        makeFiles();
    }
    static void makeFiles() {
        const std::string whole = readFile(file("a.gdt"));
        std::ofstream(file("empty"), std::ios::binary);
        std::ofstream(file("tiny"), std::ios::binary) << whole.substr(0, 50);
        std::ofstream(file("cut"), std::ios::binary) << whole.substr(0, whole.size() / 2);
        std::ofstream(file("text"), std::ios::binary) << "{\"traceEvents\":[]}\n";
        std::string newer = whole;
        newer[60] = 1; // user_version, big-endian, at 60
        std::ofstream(file("newer"), std::ios::binary) << newer;
        std::string foreign = whole;
        foreign[68] = 0; // application_id at 68
        std::ofstream(file("foreign"), std::ios::binary) << foreign;
        fs::create_directory(file("folder"));
        ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
        std::ofstream(file("huge"), std::ios::binary) << "no trace";
        fs::resize_file(file("huge"), std::uintmax_t{64} << 30); // a hole
    }
    static void TearDownTestSuite() {
        delete s_shop;
        s_shop = nullptr;
    }
    static std::string file(const std::string& name) { return s_shop->file(name); }
    static ProgramEnd call(const std::vector<std::string>& arguments) {
        return s_shop->run(graphdoctor(arguments));
    }
    // With the shell's redirections behind it.
    static ProgramEnd shell(const std::string& line) {
        return s_shop->run({"sh", "-c", std::string(GD_GRAPHDOCTOR) + " " + line});
    }
    // Nothing unfinished beside the files.
    static void expectNoLeftovers() {
        for (const auto& entry : fs::directory_iterator(s_shop->path(".")))
            for (const char* part : {".tmp", ".making", ".part", ".probe", "-journal"})
                EXPECT_THAT(entry.path().filename().string(), Not(testing::EndsWith(part)));
    }

    static Workshop* s_shop;
};
Workshop* Hostile::s_shop = nullptr;

void expectRefusal(const ProgramEnd& end, int status, const std::string& part) {
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
    EXPECT_THAT(end.err, HasSubstr(part));
}

TEST_F(Hostile, EveryReaderRefusesWhatIsNoTraceAndNamesIt) {
    const std::pair<const char*, const char*> files[] = {{"missing", "No such file"}, {"empty", "is empty"},
        {"tiny", "is cut off"}, {"cut", "is cut off"}, {"text", "is not a GraphDoctor trace"},
        {"newer", "newer GraphDoctor"}, {"foreign", "not a GraphDoctor trace"}, {"folder", "is a directory"},
        {"pipe", "not a regular file"}, {"huge", "is not a GraphDoctor trace"},
        {"a.gdt/x", "Not a directory"}};
    for (const auto& [name, why] : files) {
        const std::string bad = file(name);
        for (const std::vector<std::string>& command : {std::vector<std::string>{"report", bad},
                 {"query", bad, "SELECT 1"}, {"export", bad}, {"compare", bad, file("a.gdt")},
                 {"compare", file("a.gdt"), bad}, {"merge", file("a.gdt"), bad, "-o", file("m.gdt")}}) {
            const ProgramEnd end = call(command);
            expectRefusal(end, 3, name);
            EXPECT_THAT(end.err, HasSubstr(why)) << command[0];
        }
    }
    EXPECT_FALSE(fs::exists(file("m.gdt")));
    expectNoLeftovers();
}

TEST_F(Hostile, NamesThatAreNoTextAreReadAndShownEscaped) {
    const std::string name = "bad\xff\n\x1b[31m \"name\"?x#%41.gdt";
    fs::copy_file(file("a.gdt"), file(name));
    for (const std::string format : {"text", "json", "markdown", "html", "sarif", "junit", "github"}) {
        const ProgramEnd end = call({"report", file(name), "--format", format, "--fail-on", "never"});
        EXPECT_EQ(end.status, 0) << format << end.err;
        EXPECT_THAT(end.out, Not(HasSubstr("\x1b"))) << format;
        EXPECT_THAT(end.out, Not(HasSubstr("\xff"))) << format;
    }
    const ProgramEnd exported = call({"export", file(name)});
    EXPECT_TRUE(nlohmann::json::accept(exported.out)) << exported.err;
    const ProgramEnd missing = call({"report", file(name) + "x"});
    expectRefusal(missing, 3, "bad\\xff\\x0a\\x1b[31m");
    const std::string deep = file(std::string(5000, 'd'));
    expectRefusal(call({"report", deep}), 3, "File name too long");
    expectRefusal(call({"report", file("a.gdt"), "-o", deep}), 3, "File name too long");
}

TEST_F(Hostile, ANameAsLongAsMayBeIsWritten) {
    const std::string name = std::string(251, 'n') + ".txt";
    EXPECT_EQ(call({"report", file("a.gdt"), "-o", file(name), "--fail-on", "never"}).status, 0);
    EXPECT_THAT(readFile(file(name)), HasSubstr("GraphDoctor report"));
    const std::string trace = std::string(251, 't') + ".gdt";
    EXPECT_EQ(call({"import", file("spool-b"), "-o", file(trace)}).status, 0);
    EXPECT_EQ(call({"report", file(trace), "--fail-on", "never"}).status, 0);
    expectRefusal(call({"import", file("spool-b"), "-o", file("t" + trace)}), 3, "File name too long");
    expectNoLeftovers();
}

TEST_F(Hostile, AClosedStreamIsRefusedAndNeverWrittenIntoAFile) {
    for (const std::string command : {"report a.gdt", "export a.gdt", "compare a.gdt b.gdt", "help",
             "rules list", "query a.gdt 'SELECT 1'"})
        expectRefusal(shell("" + command + " >&-"), 3, "stdout cannot be written");
    // The first file that is opened would be stderr: notes must not go into it.
    fs::remove(file("o.txt"));
    EXPECT_EQ(shell("report a.gdt -o o.txt --fail-on never <&- >&- 2>&-").status, 0);
    EXPECT_THAT(readFile(file("o.txt")), testing::StartsWith("GraphDoctor report\n"));
    EXPECT_EQ(shell("export a.gdt -o o.json <&- >&- 2>&-").status, 0);
    EXPECT_TRUE(nlohmann::json::accept(readFile(file("o.json"))));
    EXPECT_EQ(shell("import spool-a -o o.gdt --force <&- >&- 2>&-").status, 0);
    EXPECT_EQ(call({"report", file("o.gdt"), "--fail-on", "never"}).status, 0);
    // A command that is run finds the stream as its parent left it.
    EXPECT_EQ(shell("run --no-report -o closed.gdt -- sh -c 'echo x' >&- 2>&-").status,
        s_shop->run({"sh", "-c", "sh -c 'echo x' >&- 2>&-"}).status);
}

TEST_F(Hostile, AReaderThatLeavesEarlyIsNoError) {
    for (const std::string command : {"report a.gdt --fail-on never", "export a.gdt",
             "query a.gdt 'SELECT * FROM api_call' --format csv"}) {
        const ProgramEnd end = s_shop->run({"bash", "-c",
            "set -o pipefail; " + std::string(GD_GRAPHDOCTOR) + " " + command + " | head -c 1 >/dev/null"});
        EXPECT_EQ(end.status, 0) << command;
        EXPECT_EQ(end.err, "");
    }
}

TEST_F(Hostile, AnOutputIsNeverAnInputAndNeverTwoThings) {
    const std::string before = readFile(file("a.gdt"));
    for (const std::vector<std::string>& command :
        {std::vector<std::string>{"report", file("a.gdt"), "-o", file("a.gdt")},
            {"export", file("a.gdt"), "-o", file("a.gdt")},
            {"compare", file("b.gdt"), file("a.gdt"), "-o", file("a.gdt")},
            {"merge", file("b.gdt"), file("a.gdt"), "-o", file("a.gdt"), "--force"}})
        expectRefusal(call(command), 2, "to be read and to be written");
    EXPECT_EQ(readFile(file("a.gdt")), before);
    expectRefusal(call({"import", file("spool-a"), "-o", file("spool-a/x.gdt")}), 2, "spool folder");
    std::string segment;
    for (const auto& entry : fs::directory_iterator(file("spool-a"))) {
        if (entry.path().extension() == ".seg")
            segment = entry.path().string();
    }
    const std::string records = readFile(segment);
    expectRefusal(call({"import", segment, "-o", segment, "--force"}), 2, "to be read and to be written");
    EXPECT_EQ(readFile(segment), records);
    expectRefusal(call({"run", "-o", file("r.gdt"), "--report", "json=" + file("r.gdt"), "--", "true"}), 2,
        "is written already, as the trace");
    expectRefusal(call({"run", "-o", file("r.gdt"), "--report", "json=" + file("r"), "--report",
                      "text=" + file("folder/../r"), "--", "true"}),
        2, "is written already, as a report");
    EXPECT_FALSE(fs::exists(file("r.gdt")));
}

TEST_F(Hostile, ImportTakesSpoolsOnly) {
    for (const char* name : {"missing", "folder", "text", "a.gdt", "pipe", "huge", "/dev/zero"}) {
        const std::string path = name[0] == '/' ? name : file(name);
        expectRefusal(call({"import", path, "-o", file("i.gdt")}), 3, name);
    }
    EXPECT_FALSE(fs::exists(file("i.gdt")));
    expectRefusal(
        call({"import", file("spool-a"), "-o", file("i.gdt"), "--step-range", "("}), 2, "step range");
    expectNoLeftovers();
}

TEST_F(Hostile, AThousandFindingsFitIntoEveryFormat) {
    fs::create_directories(file("many"));
    std::ofstream(file("many/GD903-many.sql")) << R"(-- SPDX-License-Identifier: Apache-2.0
-- rule: GD903 many
-- title: One of a thousand
-- severity: warning
-- impact: none
-- confidence: high
-- root: none
-- needs: callbacks>=partial
-- why: It shows that many findings can be told.
-- fix: Nothing.
-- source: This test.
-- message: finding {number}
WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < 1000)
SELECT process_id, start_ns, end_ns, number, 'row ' || number AS merge_key FROM process, n
WHERE process_id = 1;
)";
    for (const std::string format : {"text", "json", "markdown", "html", "sarif", "junit", "github"}) {
        const ProgramEnd end = call(
            {"report", file("a.gdt"), "--rules", file("many"), "--format", format, "--fail-on", "never"});
        EXPECT_EQ(end.status, 0) << format << end.err;
        EXPECT_THAT(end.out, HasSubstr("finding 1000")) << format;
    }
}

} // namespace
