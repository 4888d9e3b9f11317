// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/redact.h"
#include "analyzer/store/trace.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gd::importer {

// How the command of `graphdoctor run` ended.
struct CommandOutcome {
    std::string commandLine; // arguments separated by NUL or spaces; secrets are masked here
    std::uint32_t pid = 0; // of the direct child: the only process whose status is known
    std::optional<int> exitStatus;
    std::optional<int> exitSignal;
};

struct ImportOptions {
    bool force = false; // replace an existing file
    std::optional<RedactKey> redactKey; // set = redact
    // Bytes read so far and in all; called often. Null = nobody wants to know.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress;
    // Set by `run`. Then a spool without any process is a job that never used a runtime, not a mistake.
    std::optional<CommandOutcome> command;
    std::string sourcePath; // meta.source_path; empty = the first spool folder
    std::string stepRange; // meta.step_range, empty = none
    const std::atomic<bool>* stop = nullptr; // true: gives up soon, with an error and without a file
    store::FactsBuilder facts; // `build` null = no facts are written
};

struct ImportSummary {
    std::filesystem::path trace;
    std::uint64_t traceBytes = 0;
    std::uint64_t spoolBytes = 0;
    std::uint64_t records = 0;
    std::int64_t processes = 0; // rows of table process
    std::int64_t failedProcesses = 0; // segments that could not be read at all
    std::size_t issues = 0; // rows of trace_issue
    bool runtimeSeen = false;
    std::vector<std::filesystem::path> importedSegments; // may be removed now, and their rings
    std::vector<std::filesystem::path> importedRings;
};

// Turns spool folders (or single segment files) into one trace. Whatever is damaged becomes a row of
// trace_issue and everything else is kept; nothing about a spool's content aborts an import, only a folder
// that cannot be read, a folder without segments, segments of a newer format and an output that cannot be
// written do. Then no file is left behind.
Result<ImportSummary> importSpools(std::span<const std::filesystem::path> spoolFolders,
    const std::filesystem::path& out, const ImportOptions& options);

} // namespace gd::importer
