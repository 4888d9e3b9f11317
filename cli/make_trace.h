// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/importer.h"

#include <filesystem>
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

// Names of files that makeTrace() may leave behind when the process is ended inside it.
std::vector<std::string> unfinishedFiles(const std::string& output);

// Imports spools, adds what the run knows, builds the facts and gives the trace its name: a reader never sees
// a half-made one. Shows progress on a terminal.
Result<importer::ImportSummary> makeTrace(const TraceWish& wish);

} // namespace gd::cli
