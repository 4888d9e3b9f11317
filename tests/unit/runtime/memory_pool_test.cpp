// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_pool.h"

#include "test_kernels.h"

namespace gdt::runtime::test {

TEST(GraphPool, KeepsWithinItsLimitAndReusesTheLowestGap) {
    Device device;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(device, 4096, pool), Status::Success);
    void* blocks[3] = {};
    for (void*& block : blocks)
        ASSERT_EQ(pool.allocate(&block, 1024), Status::Success);
    EXPECT_EQ(pool.usedBytes(), 3072U);
    void* more = nullptr;
    EXPECT_EQ(pool.allocate(&more, 1025), Status::OutOfMemory);
    ASSERT_EQ(pool.release(blocks[1]), Status::Success);
    EXPECT_EQ(pool.release(blocks[1]), Status::InvalidValue);
    ASSERT_EQ(pool.allocate(&more, 500), Status::Success);
    EXPECT_EQ(more, blocks[1]);
    ASSERT_EQ(pool.allocate(&more, 1024), Status::Success);
    EXPECT_EQ(more, static_cast<std::byte*>(blocks[0]) + 3072);
    EXPECT_EQ(pool.highWaterBytes(), 4096U);
    EXPECT_TRUE(pool.contains(more));
    EXPECT_FALSE(pool.contains(&pool));
}

TEST(GraphPool, MayBeUsedInsideACapture) {
    OneNumber t;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(t.device, 4096, pool), Status::Success);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    void* block = nullptr;
    EXPECT_EQ(pool.allocate(&block, 64), Status::Success);
    EXPECT_EQ(pool.release(block), Status::Success);
    Graph graph;
    EXPECT_EQ(t.stream.endCapture(graph), Status::Success);
}

TEST(GraphPool, CannotBeMadeInsideACapture) {
    OneNumber t;
    GraphPool pool;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    EXPECT_EQ(GraphPool::create(t.device, 4096, pool), Status::CaptureUnsupported);
    Graph graph;
    EXPECT_EQ(t.stream.endCapture(graph), Status::CaptureInvalidated);
    void* block = nullptr;
    EXPECT_EQ(pool.allocate(&block, 8), Status::InvalidHandle);
}

TEST(GraphPool, GrowsUpToItsLimitAndMovesNothing) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    Device device;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(device, 4 * kMiB, 4096, pool), Status::Success);
    void* first = nullptr;
    ASSERT_EQ(pool.allocate(&first, 4096), Status::Success);
    EXPECT_EQ(pool.reservedBytes(), 4096U);
    void* second = nullptr;
    ASSERT_EQ(pool.allocate(&second, 2 * kMiB), Status::Success);
    EXPECT_EQ(pool.reservedBytes(), 4096U + 2 * kMiB);
    EXPECT_TRUE(pool.contains(first));
    EXPECT_TRUE(pool.contains(second));
    void* third = nullptr;
    EXPECT_EQ(pool.allocate(&third, 2 * kMiB), Status::OutOfMemory) << "4 KiB beyond the limit";
    ASSERT_EQ(pool.release(second), Status::Success);
    ASSERT_EQ(pool.allocate(&third, kMiB), Status::Success);
    EXPECT_EQ(third, second) << "a grown reservation is reused like the first";
    EXPECT_EQ(pool.usedBytes(), 4096U + kMiB);
}

TEST(GraphPool, DoesNotGrowWhileFrozen) {
    OneNumber t;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(t.device, 4096, 512, pool), Status::Success);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    pool.freeze(true);
    void* block = nullptr;
    EXPECT_EQ(pool.allocate(&block, 1024), Status::OutOfMemory);
    EXPECT_EQ(pool.allocate(&block, 512), Status::Success);
    Graph graph;
    EXPECT_EQ(t.stream.endCapture(graph), Status::Success) << "asking in vain is no call of the device";
    pool.freeze(false);
    EXPECT_EQ(pool.allocate(&block, 1024), Status::Success);
}

TEST(GraphPool, ReservesNothingUntilAsked) {
    Device device;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(device, 0, pool), Status::Success);
    void* block = nullptr;
    EXPECT_EQ(pool.allocate(&block, 1), Status::OutOfMemory);
    EXPECT_EQ(pool.reservedBytes(), 0U);
    EXPECT_EQ(pool.destroy(), Status::Success);
    EXPECT_EQ(GraphPool::create(device, 10, 11, pool), Status::InvalidValue);
}

TEST(GraphPool, MovesItsMemoryAlong) {
    Device device;
    GraphPool pool;
    ASSERT_EQ(GraphPool::create(device, 4096, pool), Status::Success);
    void* block = nullptr;
    ASSERT_EQ(pool.allocate(&block, 64), Status::Success);
    GraphPool moved = std::move(pool);
    EXPECT_TRUE(moved.contains(block));
    EXPECT_EQ(moved.release(block), Status::Success);
    EXPECT_EQ(moved.destroy(), Status::Success);
    EXPECT_EQ(moved.destroy(), Status::InvalidHandle);
}

} // namespace gdt::runtime::test
