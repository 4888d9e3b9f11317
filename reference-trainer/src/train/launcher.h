// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/run_config.h"

namespace gdt::train {

/// Starts `ranks` copies of this program with the same arguments, tells each its place through RANK,
/// WORLD_SIZE and LOCAL_RANK, and waits for them. When one fails the others are ended: they would wait for it
/// in vain. Returns the worst exit status (128 + n for signal n), 1 when they could not be started.
int launchRanks(int ranks, int argc, char** argv);

/// Trains as one rank; `rank` of config.parallel.world(). Returns the exit status.
int runRank(const RunConfig& config, int rank);

} // namespace gdt::train
