// SPDX-License-Identifier: Apache-2.0
#include "parallel/context_group.h"
#include "parallel/parallel_state.h"
#include "parallel/rank_environment.h"

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

TEST(ParallelState, GroupsOverSeveralAxesPartitionTheWorld) {
    const ParallelSizes sizes{2, 3, 2, 2};
    std::map<int, std::vector<int>> groups; // by leader
    for (int rank = 0; rank < sizes.world(); ++rank) {
        const ParallelState state(sizes, rank);
        EXPECT_EQ(state.groupSize({Axis::Context, Axis::Data}), 6);
        std::vector<int>& group = groups[state.groupLeader({Axis::Context, Axis::Data})];
        EXPECT_EQ(state.placeIn({Axis::Context, Axis::Data}), static_cast<int>(group.size()));
        group.push_back(rank);
    }
    ASSERT_EQ(groups.size(), 4U);
    EXPECT_EQ(groups.at(1), (std::vector<int>{1, 3, 5, 7, 9, 11}));
}

TEST(ContextGroup, EveryHopOfEveryLayoutCoversTheCausalHalfOnce) {
    for (const RingLayout layout : {RingLayout::Contiguous, RingLayout::Zigzag}) {
        for (const int size : {2, 3, 4}) {
            const std::int64_t seqLen = 12 * size;
            std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
            for (int rank = 0; rank < size; ++rank) {
                const ContextGroup own{rank, size, nullptr, layout};
                for (int hop = 0; hop < size; ++hop) {
                    const ContextGroup from{(rank + size - hop) % size, size, nullptr, layout};
                    const std::int64_t length = own.localLength(seqLen);
                    const auto at = [&](const ContextGroup& group, std::int64_t t) {
                        const auto shard = group.shard(seqLen);
                        return kernels::globalPosition(t, shard.chunk, shard.first0, shard.first1);
                    };
                    for (std::int64_t q = 0; q < length; ++q) {
                        for (std::int64_t k = 0; k < length; ++k) {
                            const HopKind kind = own.hop(hop);
                            const bool attends = kind == HopKind::Full || (kind == HopKind::Causal && k <= q)
                                || (kind == HopKind::FirstKeys && k < length / 2)
                                || (kind == HopKind::LastQueries && q >= length / 2);
                            seen[{at(own, q), at(from, k)}] += attends ? 1 : 0;
                        }
                    }
                }
            }
            for (std::int64_t q = 0; q < seqLen; ++q) {
                for (std::int64_t k = 0; k < seqLen; ++k) {
                    ASSERT_EQ((seen[{q, k}]), k <= q ? 1 : 0) << size << " ranks, " << q << " sees " << k;
                }
            }
        }
    }
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

} // namespace
} // namespace gdt::parallel
