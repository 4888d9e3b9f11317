// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.h"

namespace gd::cli {

// Records the command, imports, reports and judges; returns the exit status of `graphdoctor run`.
int runJob(const RunOptions& options);

// --print-env: makes a spool folder and prints the variables as shell commands.
int printEnvironment(const RunOptions& options);

} // namespace gd::cli
