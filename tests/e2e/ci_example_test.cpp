// SPDX-License-Identifier: Apache-2.0
// The commands of docs/ci.md, taken from there and run in a shell.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gd::test;
using testing::HasSubstr;

namespace {

// The shell block after the comment that names it.
std::string example(const std::string& name) {
    const std::string text = readFile(GD_CI_DOC);
    const std::size_t comment = text.find("ci_example_test.cpp: " + name + " -->");
    EXPECT_NE(comment, std::string::npos) << name;
    const std::size_t start = text.find("```sh\n", comment) + 6;
    return text.substr(start, text.find("```", start) - start);
}

ProgramEnd runExample(Workshop& shop, const std::string& name, const std::string& trainerOptions) {
    shop.variables["PATH"] = std::string(GD_BIN) + ":/usr/bin:/bin";
    shop.variables["TRAINER_OPTIONS"] = trainerOptions;
    return shop.run({"sh", "-c", example(name)});
}

TEST(CiExample, LetsAHealthyRunPass) {
    Workshop shop;
    const ProgramEnd end = runExample(shop, "gate", "");
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(readFile(shop.path("graphdoctor.xml")), HasSubstr("failures=\"0\""));
    EXPECT_EQ(nlohmann::json::parse(readFile(shop.path("graphdoctor.sarif")))["version"], "2.1.0");
}

TEST(CiExample, StopsAFaultyRun) {
    Workshop shop;
    const ProgramEnd end = runExample(shop, "gate", "--fault item-in-capture");
    EXPECT_EQ(end.status, 90) << end.err;
    EXPECT_THAT(readFile(shop.path("graphdoctor.xml")), HasSubstr("<failure type=\"error\""));
    const auto sarif = nlohmann::json::parse(readFile(shop.path("graphdoctor.sarif")));
    EXPECT_EQ(sarif["runs"][0]["results"][0]["ruleId"], "GD101");
    EXPECT_THAT(readFile(shop.path("graphdoctor.html")), HasSubstr("<h1>GraphDoctor: 1 error"));
    EXPECT_EQ(runExample(shop, "report", "").status, 1);
    EXPECT_THAT(readFile(shop.path("graphdoctor.md")), HasSubstr("### GD101 error"));
}

TEST(CiExample, ABrokenJobIsNotHiddenByTheGate) {
    Workshop shop;
    EXPECT_EQ(runExample(shop, "gate", "--no-such-option").status, 2);
}

} // namespace
