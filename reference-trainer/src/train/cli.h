// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/rank_environment.h"
#include "train/run_config.h"

#include <optional>

namespace gdt::train {

/// What the command line and the environment ask for.
struct Command {
    RunConfig config;
    std::optional<parallel::RankEnvironment> rank; ///< set when a launcher started this process as one rank
    bool startRanks = false; ///< --dp without a launcher: this process starts the ranks
};

/// Reads the command line. Nothing is returned when the process shall end with `status`: 0 after --help or
/// --list-faults, 2 after one sentence on stderr about what was wrong.
std::optional<Command> parseCommandLine(int argc, char** argv, int& status);

} // namespace gdt::train
