// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/run_config.h"

#include <map>
#include <string>
#include <vector>

namespace gdt::test {

/// What a training run over one or several ranks came to, put together from what each rank holds.
struct RunResult {
    std::string problem; ///< empty when all ranks trained to the end
    std::vector<optim::StepRecord> records; ///< of rank 0
    std::vector<std::string> runs; ///< by rank: "graphs N" and what else a rank has to say
    std::map<std::string, std::vector<double>> parameters; ///< whole tensors by name
    std::map<std::string, std::vector<double>> moments; ///< Adam's first, unless the optimizer is distributed
};

/// Trains config.parallel.world() ranks, one process each, that meet in a folder of their own. Copies of a
/// tensor on several ranks must agree bit for bit, or `problem` says which do not.
[[nodiscard]] RunResult trainRanks(const train::RunConfig& config);

/// A model small enough that a run of eight ranks takes a fraction of a second, and divisible by 2, 4 and 8.
[[nodiscard]] train::RunConfig tinyRun();

} // namespace gdt::test
