// SPDX-License-Identifier: Apache-2.0
#include "train/graph_memory.h"

#include <gtest/gtest.h>

#include <array>

namespace gdt::train {
namespace {

using graphs::GraphKey;
using graphs::Scope;
using model::BufferKind;
using runtime::GraphPool;
using runtime::Status;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// One chunk of two slots: 1 MiB of workspaces, and for each slot 1 MiB of inputs and 2 MiB of activations.
class GraphMemoryTest : public ::testing::Test {
protected:
    GraphMemoryTest() {
        m_plan.describe(BufferKind::Workspace);
        m_plan.want(&m_buffers[0], kMiB);
        for (int slot = 0; slot < 2; ++slot) {
            m_plan.describe(BufferKind::StaticInput, 0, slot);
            m_plan.want(&m_buffers.at(static_cast<std::size_t>(1 + 2 * slot)), kMiB);
            m_plan.describe(BufferKind::Activation, 0, slot);
            m_plan.want(&m_buffers.at(static_cast<std::size_t>(2 + 2 * slot)), 2 * kMiB);
        }
    }
    ~GraphMemoryTest() override { m_memory.close(); }

    Status open(std::optional<std::size_t> limit, bool keyByMicroBatch = false) {
        const auto schedule = pipeline::makeSchedule({pipeline::ScheduleKind::OneFOneB, 2, 1, 4}).stages[0];
        return m_memory.open(m_device, m_plan, schedule, 2, {limit, 1, 0, 10 * kMiB, keyByMicroBatch});
    }

    static GraphKey passKey(std::int64_t slot) {
        GraphKey key{Scope::Microbatch, 8, 1, 4, 4};
        key.slot = slot;
        return key;
    }

    static constexpr GraphKey kCycle{Scope::Cycle, 8, 1, 4, 4};
    static constexpr GraphKey kOptimizer{Scope::Optimizer, 0, 0, 0, 4};

    runtime::Device m_device;
    model::BufferPlan m_plan;
    std::array<std::byte*, 5> m_buffers{};
    GraphMemory m_memory;
};

TEST_F(GraphMemoryTest, WithoutALimitEverythingIsInThePool) {
    ASSERT_EQ(open(std::nullopt), Status::Success);
    EXPECT_EQ(m_memory.plan().needed(), 7 * kMiB);
    EXPECT_EQ(m_memory.plan().documentFormula, (10 + 2) * 2 * 2 * kMiB);
    EXPECT_EQ(m_memory.takenBytes(), 7 * kMiB);
    for (const std::byte* buffer : m_buffers) {
        EXPECT_TRUE(m_memory.pool().contains(buffer));
    }
    EXPECT_EQ(m_memory.refusal(kCycle), "");
    EXPECT_EQ(m_memory.refusal(passKey(1)), "");
}

TEST_F(GraphMemoryTest, OnlyGraphsWhoseBuffersFitAreAllowed) {
    ASSERT_EQ(open(5 * kMiB), Status::Success);
    EXPECT_TRUE(m_memory.pool().contains(m_buffers[2])) << "slot 0 fits";
    EXPECT_FALSE(m_memory.pool().contains(m_buffers[4])) << "slot 1 does not";
    EXPECT_NE(m_buffers[4], nullptr) << "but it has memory for eager runs";
    EXPECT_EQ(m_memory.refusal(passKey(0)), "");
    EXPECT_EQ(m_memory.refusal(passKey(1)),
        "it needs 4.00 MiB, --graph-cache-size allows 5.00 MiB and 1.00 of them are free");
    EXPECT_EQ(m_memory.refusal(kCycle),
        "it needs 7.00 MiB, --graph-cache-size allows 5.00 MiB and 1.00 of them are free");
    EXPECT_EQ(m_memory.refusal(kOptimizer), "") << "the optimizer works in none of these buffers";
}

TEST_F(GraphMemoryTest, KeysByMicroBatchMeanTheSlotOfTheMicroBatch) {
    ASSERT_EQ(open(5 * kMiB, true), Status::Success);
    EXPECT_EQ(m_memory.refusal(passKey(2)), "");
    EXPECT_NE(m_memory.refusal(passKey(3)), "");
}

TEST_F(GraphMemoryTest, BuffersOutsideThePoolDoNotOverlap) {
    ASSERT_EQ(open(0), Status::Success);
    const std::size_t sizes[] = {kMiB, kMiB, 2 * kMiB, kMiB, 2 * kMiB};
    for (std::size_t a = 0; a < m_buffers.size(); ++a) {
        ASSERT_EQ(m_device.fill(m_buffers[a], static_cast<int>(a), sizes[a]), Status::Success);
    }
    for (std::size_t a = 0; a < m_buffers.size(); ++a) {
        EXPECT_EQ(m_buffers[a][0], std::byte(a));
        EXPECT_EQ(m_buffers[a][sizes[a] - 1], std::byte(a));
    }
}

TEST_F(GraphMemoryTest, SaysWhatAGraphHoldsAndWhenItLives) {
    ASSERT_EQ(open(std::nullopt), Status::Success);
    EXPECT_EQ(m_memory.heldBy(kCycle).size(), 3U);
    const auto held = m_memory.heldBy(passKey(1));
    ASSERT_EQ(held.size(), 2U) << "the workspaces and its own slot";
    EXPECT_TRUE(held[0].live.empty());
    ASSERT_EQ(held[1].live.size(), 2U);
    EXPECT_EQ(held[1].live[0].microBatch, 1);
    EXPECT_EQ(held[1].live[1].microBatch, 3);
    EXPECT_TRUE(m_memory.heldBy(kOptimizer).empty());
    EXPECT_EQ(heldText(held).rfind("workspaces 1.00 MiB; chunk 0 slot 1 3.00 MiB, live ", 0), 0U)
        << heldText(held);
}

TEST_F(GraphMemoryTest, ADeviceThatIsTooSmallIsAnError) {
    m_plan.describe(BufferKind::Activation, 0, 1);
    std::byte* huge = nullptr;
    m_plan.want(&huge, std::int64_t{1} << 31);
    EXPECT_EQ(open(std::nullopt), Status::OutOfMemory);
    EXPECT_EQ(open(0), Status::OutOfMemory);
}

TEST(MemoryPlan, WarnsAboveSeventyPercentOfTheDevice) {
    MemoryPlan plan;
    plan.device = 1000 * kMiB;
    plan.activations = 700 * kMiB;
    EXPECT_EQ(plan.warning(), "");
    plan.limit = 701 * kMiB;
    EXPECT_EQ(plan.warning(),
        "--graph-cache-size allows graphs 701 MiB, 70 % of the device's 1000 MiB: above 70 % parameters and "
        "optimizer state may no longer fit beside it");
    plan.limit.reset();
    plan.workspaces = 100 * kMiB;
    EXPECT_EQ(plan.warning().rfind("graphs need 800 MiB, 80 %", 0), 0U) << plan.warning();
}

TEST(LiveRanges, ASlotIsUsedAgainOnlyAfterTheBackwardPassOfItsMicroBatch) {
    using pipeline::ScheduleKind;
    for (const ScheduleKind kind :
        {ScheduleKind::OneFOneB, ScheduleKind::GPipe, ScheduleKind::Interleaved, ScheduleKind::Serial}) {
        for (const int stages : {1, 2, 3, 4}) {
            const int chunks = kind == ScheduleKind::Interleaved ? 2 : 1;
            const pipeline::ScheduleShape shape{kind, stages, chunks, 2 * stages};
            if (!shape.problem().empty()) {
                continue;
            }
            for (const auto& stage : pipeline::makeSchedule(shape).stages) {
                const std::vector<LiveRange> ranges = liveRanges(stage);
                EXPECT_EQ(ranges.size(), static_cast<std::size_t>(2 * stages * chunks));
                for (std::size_t i = 1; i < ranges.size(); ++i) {
                    const LiveRange& a = ranges[i - 1];
                    const LiveRange& b = ranges[i];
                    if (a.chunk == b.chunk && a.slot == b.slot) {
                        EXPECT_LT(a.last, b.first) << pipeline::scheduleName(kind) << " of " << stages;
                    }
                }
            }
        }
    }
}

} // namespace
} // namespace gdt::train
