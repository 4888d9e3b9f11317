// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_environment.h"

#include <charconv>
#include <cstring>

namespace gdt::parallel {

namespace {

// Names of one launcher. SLURM_STEP_NUM_TASKS exists only inside a job step: the variables of the batch
// script itself claim rank 0 of several tasks, and waiting for the others would never end.
struct Family {
    const char* rank;
    const char* worldSize;
    const char* localRank;
    const char* jobKeys[2];
};

constexpr Family kFamilies[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

std::optional<int> number(const char* text) {
    int value = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || rest != end || value < 0) {
        return std::nullopt;
    }
    return value;
}

} // namespace

std::optional<RankEnvironment> readRankEnvironment(const Lookup& lookup, std::string& problem) {
    for (const Family& family : kFamilies) {
        const char* rankText = lookup(family.rank);
        const char* sizeText = lookup(family.worldSize);
        if (rankText == nullptr || sizeText == nullptr) {
            continue;
        }
        const std::optional<int> rank = number(rankText);
        const std::optional<int> size = number(sizeText);
        if (!rank || !size || *size < 1 || *rank >= *size) {
            problem = std::string(family.rank) + "=" + rankText + " and " + family.worldSize + "=" + sizeText
                + " are not a rank and a number of ranks";
            return std::nullopt;
        }
        if (*size == 1) {
            return std::nullopt;
        }
        RankEnvironment found{*rank, *size, *rank, family.rank, {}};
        if (const char* local = lookup(family.localRank); local != nullptr) {
            found.localRank = number(local).value_or(*rank);
        }
        for (const char* key : family.jobKeys) {
            if (const char* value = lookup(key); value != nullptr) {
                found.jobKey += (found.jobKey.empty() ? "" : ".") + std::string(value);
            }
        }
        return found;
    }
    return std::nullopt;
}

} // namespace gdt::parallel
