// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/arena.h"

#include <gtest/gtest.h>

namespace gdt::runtime::host {

TEST(Arena, HandsOutTheLowestAddressThatFits) {
    Arena arena(1 << 20, false);
    void* blocks[4] = {};
    for (void*& block : blocks)
        ASSERT_EQ(arena.allocate(&block, 1000), Status::Success);
    ASSERT_EQ(arena.release(blocks[2]), Status::Success);
    ASSERT_EQ(arena.release(blocks[0]), Status::Success);
    void* again = nullptr;
    ASSERT_EQ(arena.allocate(&again, 1000), Status::Success);
    EXPECT_EQ(again, blocks[0]);
    // Too large for the gap at blocks[2].
    void* large = nullptr;
    ASSERT_EQ(arena.allocate(&large, 2000), Status::Success);
    EXPECT_GT(large, blocks[3]);
}

TEST(Arena, MergesGapsOnBothSides) {
    Arena arena(3 * 4096, false);
    void* blocks[3] = {};
    for (void*& block : blocks)
        ASSERT_EQ(arena.allocate(&block, 4096), Status::Success);
    EXPECT_EQ(arena.freeBytes(), 0U);
    ASSERT_EQ(arena.release(blocks[0]), Status::Success);
    ASSERT_EQ(arena.release(blocks[2]), Status::Success);
    ASSERT_EQ(arena.release(blocks[1]), Status::Success);
    void* all = nullptr;
    EXPECT_EQ(arena.allocate(&all, 3 * 4096), Status::Success);
    EXPECT_EQ(all, blocks[0]);
}

TEST(Arena, ReusedAddressHasAnotherGeneration) {
    Arena arena(1 << 16, false);
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(arena.allocate(&first, 256), Status::Success);
    const std::uint64_t generation = arena.generationAt(static_cast<char*>(first) + 255);
    EXPECT_NE(generation, 0U);
    ASSERT_EQ(arena.release(first), Status::Success);
    EXPECT_EQ(arena.generationAt(first), 0U);
    ASSERT_EQ(arena.allocate(&second, 256), Status::Success);
    ASSERT_EQ(second, first);
    EXPECT_NE(arena.generationAt(second), generation);
}

TEST(Arena, RefusesWhatDoesNotFitAndForeignPointers) {
    Arena arena(1 << 16, false);
    void* block = nullptr;
    EXPECT_EQ(arena.allocate(&block, (1 << 16) + 1), Status::OutOfMemory);
    EXPECT_EQ(arena.allocate(&block, 0), Status::InvalidValue);
    EXPECT_EQ(arena.release(&arena), Status::InvalidValue);
    ASSERT_EQ(arena.allocate(&block, 512), Status::Success);
    EXPECT_EQ(arena.release(static_cast<char*>(block) + 256), Status::InvalidValue);
    ASSERT_EQ(arena.release(block), Status::Success);
    EXPECT_EQ(arena.release(block), Status::InvalidValue);
}

TEST(Arena, PoisonsFreedBytesOnlyWhenAsked) {
    for (const bool poison : {false, true}) {
        Arena arena(1 << 16, poison);
        void* block = nullptr;
        ASSERT_EQ(arena.allocate(&block, 256), Status::Success);
        *static_cast<unsigned char*>(block) = 7;
        ASSERT_EQ(arena.release(block), Status::Success);
        EXPECT_EQ(*static_cast<unsigned char*>(block), poison ? 0xff : 7);
    }
}

} // namespace gdt::runtime::host
