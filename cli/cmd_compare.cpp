// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/compare.h"
#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/report_options.h"
#include "cli/run/output_name.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace gd::cli {
namespace {

constexpr double kDefaultPercent = 5;
constexpr std::string_view kCompareExamples
    = "  graphdoctor compare before.gdt after.gdt\n"
      "  graphdoctor compare before.gdt after.gdt --format json -o difference.json\n"
      "  graphdoctor compare main.gdt branch.gdt --fail-on regression:3\n\n"
      "Exit status: 0 fine, 1 a regression (--fail-on), 2 wrong usage, 3 a trace cannot be used, or with\n"
      "--fail-on the time of a step cannot be compared.";

struct CompareWish {
    std::string base, fresh;
    std::string format = "text";
    std::string output;
    std::string failOn = "never";
    std::string color = "auto";
    double threshold = 2;
    JudgeOptions judge;
};

// "regression", "regression:3" or "regression:2.5"; nullopt: never.
Result<std::optional<double>> percentOf(const std::string& text) {
    constexpr std::string_view kWord = "regression";
    if (text == "never")
        return std::optional<double>();
    if (text == kWord)
        return std::optional(kDefaultPercent);
    double value = 0;
    if (text.starts_with(std::string(kWord) + ":")) {
        const char* first = text.data() + kWord.size() + 1;
        const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value < 1e6)
            return std::optional(value);
    }
    return fail(ErrorCode::usage, "--fail-on {}: never, regression or regression:PERCENT is expected", text);
}

Result<report::CompareSide> openSide(
    store::Trace& trace, const std::string& path, const rules::RuleSet& set, const JudgeOptions& options) {
    GD_TRY_ASSIGN(auto report, report::judge(trace, path, set, options.params, {}));
    return report::CompareSide{trace.db(), std::move(report)};
}

Result<int> compareTraces(const CompareWish& wish) {
    GD_TRY_ASSIGN(const auto percent, percentOf(wish.failOn));
    if (!wish.output.empty()) {
        GD_TRY(run::checkReportTarget(wish.output));
        GD_TRY(checkNotInput(wish.output, {wish.base, wish.fresh}));
    }
    GD_TRY_ASSIGN(const auto set, loadAllRules(wish.judge.ruleFolders));
    GD_TRY_ASSIGN(auto baseTrace, openTrace(wish.base));
    GD_TRY_ASSIGN(auto newTrace, openTrace(wish.fresh));
    GD_TRY_ASSIGN(auto base, openSide(baseTrace, wish.base, set, wish.judge));
    GD_TRY_ASSIGN(auto fresh, openSide(newTrace, wish.fresh, set, wish.judge));
    report::CompareOptions options;
    // What counts as no difference could not be a regression.
    options.thresholdPercent = percent ? std::min(wish.threshold, *percent) : wish.threshold;
    GD_TRY_ASSIGN(const auto comparison, report::compare(std::move(base), std::move(fresh), options));
    const bool color = wish.output.empty() && wantsColor(wish.color, STDOUT_FILENO);
    const std::string text = wish.format == "json" ? report::writeCompareJson(comparison)
                                                   : report::writeCompareText(comparison, color);
    if (!wish.output.empty()) {
        GD_TRY(writeFile(wish.output, text));
    } else if (!print("compare", text)) {
        return kUnusable;
    }
    if (!percent)
        return kOk;
    const report::Verdict verdict = report::judgeRegression(comparison, *percent);
    for (const std::string& why : verdict.why)
        note("compare", why);
    return verdict.what == report::Verdict::What::regression ? kFindings
        : verdict.what == report::Verdict::What::fine        ? kOk
                                                             : kUnusable;
}

} // namespace

int cmdCompare(const Arguments& arguments) {
    CLI::App app;
    describe(app, "compare", "compare two traces step by step", kCompareExamples);
    CompareWish wish;
    app.add_option("BASE", wish.base, "trace to compare with (.gdt)")->required();
    app.add_option("NEW", wish.fresh, "trace that is compared (.gdt)")->required();
    app.add_option("--format", wish.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    app.add_option("-o,--output", wish.output, "write the comparison to this file instead of stdout")
        ->type_name("FILE");
    app.add_option("--threshold", wish.threshold,
           "differences below this many percent count as none; at most the PERCENT of --fail-on")
        ->check(CLI::Range(0.0, 1000.0)
            & CLI::Validator(
                [](std::string& text) {
                    return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is not a number"
                                                                          : std::string();
                },
                "", ""))
        ->type_name("PERCENT")
        ->capture_default_str();
    app.add_option("--fail-on", wish.failOn,
           "never, or regression[:PERCENT]: exit with 1 when a step takes longer or the peak of memory is "
           "higher by more than PERCENT (5), or when there is a new error")
        ->type_name("WHAT")
        ->capture_default_str();
    addJudgeOptions(app, wish.judge);
    addColorOption(app, wish.color);
    return runCommand(app, arguments, "compare", [&] { return compareTraces(wish); });
}

} // namespace gd::cli
