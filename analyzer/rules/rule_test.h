// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/result.h"
#include "analyzer/rules/rule_file.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// How one inline test went; problems start with "path:line: ".
struct TestResult {
    std::string name;
    int line = 0;
    std::vector<std::string> problems; // empty = passed
};

struct RuleTestReport {
    std::string rule;
    std::string path;
    std::vector<TestResult> tests;
    std::vector<std::string> problems; // of the file as a whole, such as a missing quiet test

    bool passed() const;
    std::string text() const; // one line a test, then the problems
};

// Runs the inline tests of rules, each in an empty trace: the real schema in memory, except that a column
// which must not be NULL and is not given is 0, 0.0 or '' (`known`: 1), so that a test names only what
// matters to it. A test's statements may fill tables and do nothing else. Coverage is not judged: `needs:` is
// about recording.
class RuleTester {
public:
    static Result<RuleTester> create();

    RuleTestReport test(const RuleFile& rule);
    // Whether every test passes with another query and other parameters; stops at the first that does not.
    bool passes(const RuleFile& rule, std::string_view query, std::span<const RuleParam> params);

private:
    explicit RuleTester(Db db)
        : m_db(std::move(db)) { }
    std::vector<std::string> runTest(const RuleFile& rule, const InlineTest& test, std::string_view query,
        std::span<const RuleParam> params);

    Db m_db;
};

} // namespace gd::rules
