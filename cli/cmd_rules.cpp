// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/wrap.h"
#include "analyzer/rules/mutate.h"
#include "analyzer/rules/rule_set.h"
#include "analyzer/rules/rule_test.h"
#include "cli/analysis.h"
#include "cli/common.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gd::cli {
namespace {

constexpr std::string_view kRulesExamples = "  graphdoctor rules list\n"
                                            "  graphdoctor rules show GD101\n"
                                            "  graphdoctor rules test my-rules/GD901-my-pitfall.sql\n"
                                            "  graphdoctor rules mutate";

struct RulesWish {
    std::vector<std::string> folders; // --rules
    std::vector<std::string> files; // test, mutate: files, folders or ids; none = all
    std::string id; // show
    std::string format = "text"; // list
};

// Broken files are told one by one; they never hide the good ones, but the exit status says 3.
int tellBroken(const rules::RuleSet& set) {
    for (const Error& error : set.broken)
        note("rules", error.message);
    return set.broken.empty() ? kOk : kUnusable;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string needsText(const rules::RuleFile& rule) {
    std::string out;
    for (const rules::CoverageNeed& need : rule.needs) {
        out += out.empty() ? "" : ", ";
        for (std::size_t i = 0; i < need.sources.size(); ++i)
            out += (i == 0 ? "" : "|") + need.sources[i];
        out += fmt::format(">={}", rules::name(need.atLeast));
    }
    return out;
}

int list(const RulesWish& wish) {
    const auto set = loadAllRules(wish.folders);
    if (!set)
        return refuse("rules", set.error());
    std::string out;
    if (wish.format == "json") {
        nlohmann::ordered_json json = nlohmann::ordered_json::array();
        for (const rules::RuleFile& rule : set->rules) {
            nlohmann::ordered_json item
                = {{"id", rule.id}, {"name", rule.slug}, {"group", rule.group}, {"title", rule.title},
                    {"severity", rules::name(rule.severity)}, {"impact", rules::name(rule.impact)},
                    {"confidence", rules::name(rule.confidence)}, {"needs", needsText(rule)},
                    {"path", rule.path}, {"params", nlohmann::ordered_json::object()}};
            for (const rules::RuleParam& param : rule.params)
                item["params"][param.name] = param.text;
            json.push_back(std::move(item));
        }
        out = json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    } else {
        for (const rules::RuleFile& rule : set->rules) {
            out += fmt::format("{:<7}{:<9}", rule.id, rules::name(rule.severity));
            report::appendWrapped(out, report::plainProse(rule.title), 16, 16);
        }
        out += fmt::format("{} rules; graphdoctor rules show ID prints one\n", set->rules.size());
    }
    const int broken = tellBroken(*set);
    return print("rules", out) ? broken : kUnusable;
}

// The licence line that every file begins with says nothing about the rule.
std::string_view withoutLicence(std::string_view text) {
    const std::size_t end = text.find('\n');
    const bool isFirst = text.starts_with("-- SPDX-License-Identifier:") && end != std::string_view::npos;
    return isFirst ? text.substr(end + 1) : text;
}

int show(const RulesWish& wish) {
    const auto set = loadAllRules(wish.folders);
    if (!set)
        return refuse("rules", set.error());
    const auto rule = std::find_if(set->rules.begin(), set->rules.end(), [&](const rules::RuleFile& r) {
        return lower(r.id) == lower(wish.id) || lower(r.slug) == lower(wish.id);
    });
    if (rule == set->rules.end()) {
        tellBroken(*set);
        note("rules", fmt::format("there is no rule {}; graphdoctor rules list shows all", wish.id));
        return kUsage;
    }
    return print("rules", withoutLicence(rule->text)) ? kOk : kUnusable;
}

// Rules named by file, folder or id; all when none is named.
Result<rules::RuleSet> wanted(const RulesWish& wish) {
    if (wish.files.empty())
        return loadAllRules(wish.folders);
    std::vector<std::string> paths;
    std::vector<std::string> ids;
    for (const std::string& file : wish.files)
        (std::filesystem::exists(file) ? paths : ids).push_back(file);
    rules::RuleSet set;
    if (!paths.empty()) {
        GD_TRY_ASSIGN(set, rules::loadRules(paths));
    }
    if (ids.empty())
        return set;
    GD_TRY_ASSIGN(auto all, loadAllRules(wish.folders));
    for (const std::string& id : ids) {
        const auto rule = std::find_if(all.rules.begin(), all.rules.end(),
            [&](const rules::RuleFile& r) { return lower(r.id) == lower(id); });
        if (rule == all.rules.end())
            return fail(ErrorCode::usage, "{} is neither a file nor the id of a rule", id);
        set.rules.push_back(*rule);
    }
    return set;
}

int test(const RulesWish& wish) {
    const auto set = wanted(wish);
    if (!set)
        return refuse("rules", set.error());
    auto tester = rules::RuleTester::create();
    if (!tester)
        return refuse("rules", tester.error());
    std::string out;
    std::size_t failed = 0;
    for (const rules::RuleFile& rule : set->rules) {
        const rules::RuleTestReport report = tester->test(rule);
        out += report.text();
        failed += report.passed() ? 0 : 1;
    }
    const int broken = tellBroken(*set);
    out += fmt::format("{} rules tested, {} failed\n", set->rules.size(), failed);
    if (!print("rules", out))
        return kUnusable;
    return broken != kOk ? broken : failed == 0 ? kOk : kFindings;
}

int mutateAll(const RulesWish& wish) {
    const auto set = wanted(wish);
    if (!set)
        return refuse("rules", set.error());
    auto tester = rules::RuleTester::create();
    if (!tester)
        return refuse("rules", tester.error());
    std::size_t mutants = 0;
    std::size_t survivors = 0;
    int status = tellBroken(*set);
    for (const rules::RuleFile& rule : set->rules) {
        const auto report = rules::mutate(*tester, rule);
        if (!report) {
            note("rules", report.error().message);
            status = std::max(status, kFindings);
            continue;
        }
        mutants += report->mutants;
        survivors += report->survivors.size();
        if (!print("rules", report->text()))
            return kUnusable;
    }
    if (!print("rules", fmt::format("{} mutants, {} survived\n", mutants, survivors)))
        return kUnusable;
    return status != kOk ? status : survivors == 0 ? kOk : kFindings;
}

} // namespace

int cmdRules(const Arguments& arguments) {
    CLI::App app;
    describe(app, "rules", "list, show and test the rules", kRulesExamples);
    app.require_subcommand(1);
    RulesWish wish;
    app.add_option("--rules", wish.folders, "also use the rules of this folder")
        ->type_name("DIR")
        ->allow_extra_args(false);
    CLI::App* listApp = app.add_subcommand("list", "List all rules with their severity.");
    listApp->add_option("--format", wish.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    CLI::App* showApp = app.add_subcommand("show", "Print a rule's file: documentation, query and tests.");
    showApp->add_option("ID", wish.id, "such as GD101")->required();
    CLI::App* testApp
        = app.add_subcommand("test", "Run the tests inside rule files; status 1 when one fails.");
    testApp->add_option("FILE", wish.files, "rule files, folders or ids; none: all rules");
    CLI::App* mutateApp = app.add_subcommand(
        "mutate", "Change every parameter and comparison in turn; status 1 when no test notices a change.");
    mutateApp->add_option("FILE", wish.files, "rule files, folders or ids; none: all rules");
    for (CLI::App* part : {listApp, showApp, testApp, mutateApp})
        part->fallthrough();
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    if (listApp->parsed())
        return list(wish);
    if (showApp->parsed())
        return show(wish);
    return testApp->parsed() ? test(wish) : mutateAll(wish);
}

} // namespace gd::cli
