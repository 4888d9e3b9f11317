// SPDX-License-Identifier: Apache-2.0
// Spools and traces recorded on a GPU (tests/fixtures) through import (spools), facts, rules and report: what
// was found once must be found for ever. What each must give stands in its expected.json.
#include "tests/support/temporary_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> fixtureNames() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(GD_FIXTURES)) {
        if (fs::exists(entry.path() / "expected.json")) {
            names.push_back(entry.path().filename());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

struct Output {
    int status;
    std::string text;
};

Output run(const std::string& command) {
    Output out{-1, {}};
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return out;
    }
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        out.text.append(buffer, got);
    }
    const int status = pclose(pipe);
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return out;
}

class Fixture : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        const fs::path spool = fs::path(GD_FIXTURES) / GetParam() / "spool";
        if (fs::exists(spool)) { // importing marks a spool as imported, so it works on a copy
            fs::copy(spool, m_work.path() / "spool", fs::copy_options::recursive);
            fs::permissions(m_work.path() / "spool", fs::perms::owner_all);
        }
    }

    json expected() const {
        std::ifstream file(fs::path(GD_FIXTURES) / GetParam() / "expected.json");
        return json::parse(file);
    }
    std::string trace() const { return m_work.path() / "out.gdt"; }
    json report() const {
        const fs::path packed = fs::path(GD_FIXTURES) / GetParam() / "trace.gdt.gz";
        const Output made = fs::exists(packed)
            ? run("gzip -dc '" + packed.string() + "' > '" + trace() + "'")
            : run("'" GD_PROGRAM "' import '" + (m_work.path() / "spool").string() + "' -o '" + trace()
                + "' 2>&1");
        EXPECT_EQ(made.status, 0) << made.text;
        const Output report = run("'" GD_PROGRAM "' report '" + trace() + "' --format json --fail-on never");
        EXPECT_EQ(report.status, 0) << report.text;
        return json::parse(report.text, nullptr, false);
    }

    gd::test::TemporaryFolder m_work;
};

TEST_P(Fixture, GivesWhatItGaveOnTheDevice) {
    const json want = expected();
    const json got = report();
    ASSERT_TRUE(got.is_object());
    for (const json& query : want.value("queries", json::array())) {
        const std::string sql = query[0];
        const Output answer = run("'" GD_PROGRAM "' query '" + trace() + "' \"" + sql + "\" --format csv");
        EXPECT_EQ(answer.status, 0) << sql;
        std::string value = answer.text.substr(answer.text.find('\n') + 1);
        std::erase_if(value, [](char c) { return c == '"' || c == '\n' || c == '\r'; });
        EXPECT_EQ(value, query[1]) << sql;
    }
    std::vector<json> serious;
    for (const json& finding : got["findings"]) {
        if (finding["severity"] == "error" || finding["severity"] == "warning") {
            serious.push_back(finding);
        }
    }
    if (want["first"].is_null()) {
        EXPECT_TRUE(serious.empty()) << serious[0].dump(1);
        return;
    }
    ASSERT_FALSE(serious.empty());
    EXPECT_EQ(serious[0]["rule"], want["first"]) << serious[0].dump(1);
    if (want.contains("line")) {
        ASSERT_FALSE(serious[0]["locations"].empty());
        EXPECT_EQ(serious[0]["locations"][0]["file"], want["file"]);
        EXPECT_EQ(serious[0]["locations"][0]["line"], want["line"]);
    }
}

// A rule's line `-- needs: a|b>=partial, c>=complete` as SQL: 1 = some process recorded all of it.
std::string needsAsSql(const std::string& ruleText) {
    std::smatch line;
    if (!std::regex_search(ruleText, line, std::regex("\\n-- needs: ([^\\n]*)"))) {
        return "SELECT 1";
    }
    std::string text = line[1];
    std::string sql = "SELECT EXISTS (SELECT 1 FROM process AS p WHERE 1";
    const std::regex need("([a-z_|]+)>=(partial|complete)");
    for (std::sregex_iterator one(text.begin(), text.end(), need), end; one != end; ++one) {
        std::string sources = "'" + (*one)[1].str() + "'";
        if ((*one)[1] == "comm_ops") { // the best of what tells of communication
            sources = "'comm_ops','nccl_plugin','nccl_nvtx'";
        }
        sources = std::regex_replace(sources, std::regex("\\|"), "','");
        sql += " AND EXISTS (SELECT 1 FROM coverage AS c WHERE c.process_id = p.process_id AND c.source IN ("
            + sources + ") AND c.state IN ('complete'" + ((*one)[2] == "partial" ? ",'partial'" : "") + "))";
    }
    return sql + ")";
}

// At each level a rule either fires, is clean because it could see, or says truly why it could not.
TEST_P(Fixture, EveryRuleIsJudgedOrSaysWhyNot) {
    const json got = report();
    ASSERT_TRUE(got.is_object());
    const auto ask = [&](const std::string& sql) {
        const Output answer = run("'" GD_PROGRAM "' query '" + trace() + "' \"" + sql + "\" --format csv");
        EXPECT_EQ(answer.status, 0) << sql << answer.text;
        std::string value = answer.text.substr(answer.text.find('\n') + 1);
        std::erase_if(value, [](char c) { return c == '"' || c == '\n' || c == '\r'; });
        return value;
    };
    const bool hasSteps = ask("SELECT count(*) FROM steady_state WHERE steps > 0") != "0";
    ASSERT_FALSE(got["rules"].empty());
    for (const json& rule : got["rules"]) {
        const std::string id = rule["id"];
        const std::string outcome = rule["outcome"];
        const Output text = run("'" GD_PROGRAM "' rules show " + id);
        ASSERT_EQ(text.status, 0) << id;
        const bool sees = ask(needsAsSql(text.text)) == "1";
        const std::string query = text.text.substr(0, text.text.find("\n-- test:"));
        const bool ofSteps = query.find("steady_state") != std::string::npos;
        if (outcome == "fired" || outcome == "clean") {
            EXPECT_TRUE(sees) << id << " is " << outcome << " without what it needs";
            EXPECT_TRUE(hasSteps || !ofSteps) << id << " is " << outcome << " without steps";
            continue;
        }
        ASSERT_EQ(outcome, "not_evaluated") << id;
        const std::string reason = rule["reason"].is_string() ? rule["reason"].get<std::string>() : "";
        EXPECT_FALSE(reason.empty()) << id;
        const bool byNeeds = reason.find("needs ") != std::string::npos;
        const bool bySteps = reason.find("steps") != std::string::npos;
        EXPECT_TRUE(!byNeeds || !sees) << id << ": " << reason;
        EXPECT_TRUE(!bySteps || byNeeds || !hasSteps) << id << ": " << reason;
    }
}

INSTANTIATE_TEST_SUITE_P(Recorded, Fixture, testing::ValuesIn(fixtureNames()), [](const auto& one) {
    std::string name = one.param;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

} // namespace
