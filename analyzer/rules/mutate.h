// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/rule_file.h"
#include "analyzer/rules/rule_test.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// A rule with one small change that its tests should notice.
struct Mutant {
    std::string place; // "path:line"
    std::string what; // "`>=` becomes `>`"
    std::string query;
    std::vector<RuleParam> params;
};

// Every parameter, and every number compared with something, one unit of its last digit up and down; every
// comparison that touches a parameter or a literal, turned to its neighbour: >= and >, <= and <, = and <>,
// IS, IN, LIKE, GLOB and BETWEEN with and without NOT.
std::vector<Mutant> mutantsOf(const RuleFile& rule);

struct MutationReport {
    std::string rule;
    std::size_t mutants = 0;
    std::vector<Mutant> survivors; // changes that no test notices

    std::string text() const; // a line for each survivor, then the sum
};

// Fails when the unchanged rule does not pass its own tests.
Result<MutationReport> mutate(RuleTester& tester, const RuleFile& rule);

// "0.85", +1 → "0.86"; "500", -1 → "499"; nullopt for what is no plain decimal number.
std::optional<std::string> bumpLastDigit(std::string_view number, int by);

} // namespace gd::rules
