// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/report/writer.h"
#include "cli/analysis.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace gd::cli {

// --rules DIR and --param NAME=VALUE.
void addJudgeOptions(CLI::App& app, JudgeOptions& options);

// A format's name; the error lists all.
Result<report::Format> reportFormat(std::string_view word);

// One --report FORMAT[=FILE] of `run`.
struct ReportWish {
    report::Format format = report::Format::text;
    std::string file; // empty: stderr, "-": stdout
};
Result<std::vector<ReportWish>> parseReportWishes(const std::vector<std::string>& texts);

} // namespace gd::cli
