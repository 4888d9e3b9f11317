// SPDX-License-Identifier: Apache-2.0
#include "parallel/parallel_state.h"
#include "parallel/rank_environment.h"
#include "pipeline/schedule.h"

#include <gtest/gtest.h>

#include <map>

namespace gdt::parallel {
namespace {

TEST(ParallelState, CoordinatesAndGroupsCoverTheGrid) {
    const ParallelSizes sizes{2, 1, 3, 2};
    for (int rank = 0; rank < sizes.world(); ++rank) {
        const ParallelState state(sizes, rank);
        EXPECT_EQ(rank,
            state.coordinate(Axis::Tensor) + 2 * state.coordinate(Axis::Data)
                + 6 * state.coordinate(Axis::Pipeline));
        for (const Axis axis : {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline}) {
            const std::vector<int> group = state.group(axis);
            ASSERT_EQ(static_cast<int>(group.size()), state.size(axis));
            EXPECT_EQ(group[static_cast<std::size_t>(state.coordinate(axis))], rank);
        }
    }
    EXPECT_EQ(ParallelState(sizes, 9).group(Axis::Data), (std::vector<int>{7, 9, 11}));
}

TEST(ParallelState, GroupNamesTellGroupsApart) {
    const ParallelSizes sizes{2, 1, 2, 1};
    EXPECT_EQ(ParallelState(sizes, 0).groupName(Axis::Data), ParallelState(sizes, 2).groupName(Axis::Data));
    EXPECT_NE(ParallelState(sizes, 0).groupName(Axis::Data), ParallelState(sizes, 1).groupName(Axis::Data));
    EXPECT_NE(ParallelState(sizes, 0).groupName(Axis::Data), ParallelState(sizes, 0).groupName(Axis::Tensor));
}

std::optional<RankEnvironment> read(
    const std::map<std::string, std::string>& variables, std::string& problem) {
    return readRankEnvironment(
        [&](const char* name) {
            const auto it = variables.find(name);
            return it == variables.end() ? nullptr : it->second.c_str();
        },
        problem);
}

TEST(RankEnvironment, EachLauncherIsUnderstood) {
    std::string problem;
    const auto mpi = read({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"PMIX_NAMESPACE", "job7"}},
        problem);
    ASSERT_TRUE(mpi);
    EXPECT_EQ(mpi->rank, 3);
    EXPECT_EQ(mpi->worldSize, 4);
    EXPECT_EQ(mpi->localRank, 1);
    EXPECT_EQ(mpi->jobKey, "job7");
    const auto torchrun = read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}, problem);
    ASSERT_TRUE(torchrun);
    EXPECT_EQ(torchrun->rank, 1);
    const auto slurm
        = read({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_JOB_ID", "5"}}, problem);
    ASSERT_TRUE(slurm);
    EXPECT_EQ(slurm->jobKey, "5");
    EXPECT_TRUE(problem.empty());
}

TEST(RankEnvironment, BatchScriptAndSingleRankAreNoRanks) {
    std::string problem;
    EXPECT_FALSE(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, problem));
    EXPECT_FALSE(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, problem));
    EXPECT_FALSE(read({{"RANK", "0"}}, problem));
    EXPECT_TRUE(problem.empty());
}

TEST(RankEnvironment, ContradictionIsNamed) {
    for (const auto& [rank, size] : {std::pair{"2", "2"}, {"-1", "2"}, {"one", "2"}, {"0", "0"}}) {
        std::string problem;
        EXPECT_FALSE(read({{"RANK", rank}, {"WORLD_SIZE", size}}, problem));
        EXPECT_NE(problem.find("RANK="), std::string::npos);
    }
}

TEST(Schedule, BackwardFollowsItsForwardAndTheReductionComesLast) {
    const auto list = pipeline::singleStageSchedule(3);
    ASSERT_EQ(list.size(), 7U);
    for (std::size_t m = 0; m < 3; ++m) {
        const auto microBatch = static_cast<std::int64_t>(m);
        EXPECT_EQ(list[2 * m], (pipeline::Instruction{pipeline::Operation::Forward, microBatch}));
        EXPECT_EQ(list[2 * m + 1], (pipeline::Instruction{pipeline::Operation::Backward, microBatch}));
    }
    EXPECT_EQ(list.back().operation, pipeline::Operation::GradientSync);
}

} // namespace
} // namespace gdt::parallel
