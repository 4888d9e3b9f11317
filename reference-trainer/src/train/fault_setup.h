// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_injector.h"
#include "train/run_config.h"

namespace gdt::train {

/// What the user left open and a fault needs otherwise than by default.
struct OpenChoices {
    bool maxGraphs = true;
    bool guard = true;
};

/// What decides whether the run's faults can happen.
[[nodiscard]] faults::RunShape shapeOf(const RunConfig& config);

/// How much of the memory that its graphs need the rank's pool gets: 1 but for faults of the pool.
[[nodiscard]] double poolShare(const RunConfig& config, int rank);

/// Sets the run up so that its faults can happen: what is captured, and what a replay checks.
void setUpFaults(RunConfig& config, const OpenChoices& open);

/// The same for the network model: after its options.
void setUpNetwork(RunConfig& config);

/// The variable with which containers start in spite of their version check, and this program of its own.
constexpr const char* kNoVersionCheck = "NVIDIA_DISABLE_REQUIRE";

/// The same for the environment of this process and the version of the runtime: before other threads start
/// and a tool reads them.
void setUpEnvironment(const RunConfig& config);

} // namespace gdt::train
