// SPDX-License-Identifier: Apache-2.0
// rule_check test|mutate FILE…      inline tests of rules, or which changes of them no test notices
// rule_check folder|catalogue DIR   whether a folder of rules is whole and its README.md current; writes that
// README.md
#include "analyzer/rules/mutate.h"
#include "analyzer/rules/rule_set.h"
#include "analyzer/rules/rule_test.h"
#include "analyzer/rules/text_file.h"

#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using gd::Result;
using namespace gd::rules;

bool complain(const gd::Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    return false;
}

bool check(RuleTester& tester, const std::string& path, bool mutating) {
    const Result<RuleFile> rule = loadRuleFile(path);
    if (!rule)
        return complain(rule.error());
    if (!mutating) {
        const RuleTestReport report = tester.test(*rule);
        fmt::print("{}", report.text());
        return report.passed();
    }
    const Result<MutationReport> report = mutate(tester, *rule);
    if (!report)
        return complain(report.error());
    fmt::print("{}", report->text());
    return report->survivors.empty();
}

bool checkFiles(std::span<const std::string> paths, bool mutating) {
    Result<RuleTester> tester = RuleTester::create();
    if (!tester)
        return complain(tester.error());
    bool good = true;
    for (const std::string& path : paths)
        good = check(*tester, path, mutating) && good;
    return good;
}

bool checkFolder(const std::string& folder, bool writing) {
    const Result<RuleSet> set = loadRules(std::span(&folder, 1));
    if (!set)
        return complain(set.error());
    for (const gd::Error& error : set->broken)
        complain(error);
    const std::string readme = folder + "/README.md";
    const std::string wanted = catalogueMarkdown(set->rules);
    if (writing) {
        std::ofstream file(readme, std::ios::binary);
        file << wanted;
        return file.good() && set->broken.empty();
    }
    const Result<std::string> current = readTextFile(readme, "catalogue");
    if (!current)
        return complain(current.error());
    if (*current != wanted)
        fmt::print(stderr, "{} is not current; run: ninja rules_readme\n", readme);
    fmt::print("{} rules\n", set->rules.size());
    return *current == wanted && set->broken.empty();
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string_view verb = arguments.empty() ? "" : arguments[0];
    if (arguments.size() >= 2 && (verb == "test" || verb == "mutate"))
        return checkFiles(std::span(arguments).subspan(1), verb == "mutate") ? 0 : 1;
    if (arguments.size() == 2 && (verb == "folder" || verb == "catalogue"))
        return checkFolder(arguments[1], verb == "catalogue") ? 0 : 1;
    fmt::print(stderr, "usage: rule_check test|mutate FILE... | folder|catalogue DIR\n");
    return 2;
}
