// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "cli/analysis.h"
#include "cli/report_options.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::cli {

// What `graphdoctor run` was asked to do, checked as far as that goes before the job starts.
struct RunOptions {
    std::string output; // pattern of -o, empty = the default name
    std::string level = "standard";
    std::string stepRange;
    std::string delay; // as given, empty = none
    std::string duration;
    std::string steps;
    std::string window;
    std::string windows; // the four as raw::kEnvWindow wants them, empty = record everything
    std::string maxSize = "4GB";
    std::string frameworkHooks = "auto";
    std::string withProfiler = "yield";
    std::string keepLast; // as given, empty = everything that --max-size allows
    std::string measureOverhead = "auto";
    std::string overhead; // the same as raw::kEnvOverhead wants it, empty = not
    std::string limits; // the two as raw::kEnvLimits wants them
    bool redact = false;
    bool force = false;
    bool printEnv = false;
    bool selfCheck = false; // the command is the built-in job: nothing is said about the run itself
    bool noReport = false;
    std::string failOn; // empty = not asked
    std::vector<std::string> reportTexts;
    std::vector<ReportWish> reports;
    JudgeOptions judge;
    std::vector<std::string> command;

    std::optional<rules::Severity> gate() const { return failOnFrom(failOn); }
};

// Reads the arguments of `run`. A value in `stop`: end with that status.
struct ParsedRun {
    RunOptions options;
    std::optional<int> stop;
};
ParsedRun parseRun(const std::vector<std::string>& arguments);

} // namespace gd::cli
