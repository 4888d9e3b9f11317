// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace gdt::parallel {

/// What a launcher told this process about its place in the job.
struct RankEnvironment {
    int rank = 0;
    int worldSize = 1;
    int localRank = 0;
    std::string source; ///< for messages, for example "OMPI_COMM_WORLD_RANK"
    std::string jobKey; ///< the same on all ranks of the job, different for two jobs of one user
};

using Lookup = std::function<const char*(const char*)>;

/// Reads OMPI_COMM_WORLD_* (mpirun), RANK/WORLD_SIZE/LOCAL_RANK (torchrun and our own --dp), then SLURM_* of
/// a job step (srun), in this order; the first complete set wins. Empty when none is there or the job has one
/// rank only. A set that contradicts itself puts one sentence into `problem`.
std::optional<RankEnvironment> readRankEnvironment(const Lookup& lookup, std::string& problem);

} // namespace gdt::parallel
