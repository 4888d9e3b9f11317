// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/importer.h"
#include "cli/run/child_process.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gd::cli {

// Something that only `graphdoctor run` knows about a recording: a row of trace_issue, and of coverage for
// each source that it takes away.
struct RunIssue {
    std::string code;
    std::string detail;
    std::vector<std::string> absentSources;
};

struct TraceWish {
    std::vector<std::filesystem::path> spools;
    std::string output;
    bool replace = false;
    bool mayRename = false; // nobody asked for this name: take another one when it is taken meanwhile
    bool redact = false;
    std::string stepRange;
    std::string windows; // of the command line, empty = none
    std::string level; // meta.level, empty = unknown
    std::optional<importer::CommandOutcome> command;
    std::vector<std::pair<std::int64_t, int>> ends; // (pid, status as a shell says it) of sibling commands
    std::vector<RunIssue> issues;
};

// Makes a file under a working name, which `fill` gets, and gives it its own when that succeeded; without
// `replace` never in place of one that appeared meanwhile. Errors name `output`.
Result<void> makeFile(const std::string& output, bool replace,
    const std::function<Result<void>(const std::filesystem::path&)>& fill);

// Names of files that makeTrace() and makeFile() may leave behind when the process is ended inside it.
std::vector<std::string> unfinishedFiles(const std::string& output);

// While it lives, Ctrl-C ends this command as the signal would, leaving no unfinished file behind.
run::InterruptExit interruptExit(std::string_view command, const std::string& output);

// Imports spools, adds what the run knows, builds the facts and gives the trace its name: a reader never sees
// a half-made one. Shows progress on a terminal.
Result<importer::ImportSummary> makeTrace(const TraceWish& wish);

} // namespace gd::cli
