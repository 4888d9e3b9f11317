// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/message.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gd::rules {

enum class CoverageState : std::uint8_t { absent, partial, complete };
std::string_view name(CoverageState value);

// `needs: graph_trace|node_activity>=partial`: one of the sources must reach the state.
struct CoverageNeed {
    std::vector<std::string> sources;
    CoverageState atLeast = CoverageState::partial;
};

// `param gap_us: 500`. Numbers keep their text: its last digit is the unit that `rules mutate` changes.
struct RuleParam {
    std::string name;
    std::string text;
    Value value; // integer, real or text
    int line = 0;
};

// One row that a test expects: the whole message, and columns by name.
struct ExpectedFinding {
    std::string message;
    std::vector<std::pair<std::string, std::string>> columns;
    int line = 0;
};

// `test: NAME`, statements, one `expect:` per finding or `expect: none`.
struct InlineTest {
    std::string name;
    int line = 0;
    std::string sql;
    int sqlLine = 0; // of the first character of `sql`
    std::vector<ExpectedFinding> expected; // empty = quiet
};

// One rule: what rules/<group>/<id>-<slug>.sql says. Format in rules/README.md.
struct RuleFile {
    std::string path;
    std::string group; // name of the folder it lies in
    std::string id; // "GD301"
    std::string slug; // "replay-gap"
    std::string title;
    Severity severity = Severity::info;
    Impact impact = Impact::none;
    Confidence confidence = Confidence::low;
    RootKind root = RootKind::none;
    std::string parent; // id of the more general rule, or empty
    std::vector<CoverageNeed> needs;
    std::vector<RuleParam> params;
    std::string why;
    std::string fix;
    std::string source;
    std::string message;
    MessageTemplate messageTemplate;
    int messageLine = 0;
    std::string query;
    int queryLine = 0; // of the first character of `query`
    std::vector<InlineTest> tests;
    std::string text; // the whole file

    const RuleParam* param(std::string_view paramName) const;
};

// Every error names path:line and what was expected.
Result<RuleFile> parseRuleFile(std::string text, const std::string& path);
Result<RuleFile> loadRuleFile(const std::string& path);

// "path:12" of a byte position in a text that starts on `firstLine`.
std::string placeOf(const std::string& path, std::string_view text, int firstLine, int offset);

} // namespace gd::rules
