// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run/child_process.h"
#include "cli/run/environment.h"
#include "cli/run_options.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gd::cli {

// What a job left behind.
struct RunResult {
    std::string output;
    std::string spool;
    std::string remoteSpool; // of processes on other hosts; need not exist
    run::ChildEnd end;
    std::vector<std::pair<std::int64_t, int>> ends; // of all siblings' commands
    std::vector<run::KeptVariable> kept;
};

// From its making on, Ctrl-C means: no report now. The spool stays, and the command that makes the trace
// later is told.
run::InterruptExit interruptGuard(const RunOptions& options, const RunResult& result);

// Makes the trace, writes the reports, removes the spool and returns the status of `graphdoctor run`. When
// the trace cannot be made the spool stays and the command that makes it later is told.
int reportResult(const RunOptions& options, const RunResult& result);

// Whether the gate can say anything: there was a runtime, and no rule of that severity lost its data.
// Empty = it can; else the reason.
std::string gateTrouble(const report::Report& report, rules::Severity severity);

} // namespace gd::cli
