// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sequence_tracker.h"

#include <gtest/gtest.h>

namespace gd::importer {
namespace {

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

bool addRange(SequenceTracker& tracker, std::uint64_t from, std::uint64_t to) {
    bool isNew = true;
    for (std::uint64_t number = from; number < to; ++number)
        isNew = tracker.add(static_cast<std::uint32_t>(number), 1) && isNew;
    return isNew;
}

TEST(SequenceTracker, FindsWhatIsMissingAndWhatCameTwice) {
    SequenceTracker tracker;
    EXPECT_TRUE(addRange(tracker, 0, 10));
    EXPECT_TRUE(addRange(tracker, 15, 20));
    EXPECT_FALSE(tracker.add(7, 1));
    ASSERT_EQ(tracker.gaps().size(), 1u);
    EXPECT_EQ(tracker.gaps()[0].first, 10u);
    EXPECT_EQ(tracker.gaps()[0].count, 5u);
}

// A thread that delivers 50,000 records a second comes to the end of 32 bits within a day.
TEST(SequenceTracker, FollowsNumbersBeyondTheirThirtyTwoBits) {
    SequenceTracker tracker;
    EXPECT_TRUE(addRange(tracker, kWrap - 16, kWrap));
    EXPECT_TRUE(addRange(tracker, kWrap, kWrap + 8));
    EXPECT_TRUE(addRange(tracker, kWrap + 11, kWrap + 16));
    EXPECT_FALSE(tracker.add(static_cast<std::uint32_t>(kWrap - 3), 1)) << "a copy from before the wrap";
    EXPECT_EQ(tracker.highest(), kWrap + 16);
    const auto gaps = tracker.gaps(kWrap - 16);
    ASSERT_EQ(gaps.size(), 1u);
    EXPECT_EQ(gaps[0].first, kWrap + 8);
    EXPECT_EQ(gaps[0].count, 3u);
}

// The oldest records are gone: the first number that is left says nothing about the numbers before it.
TEST(SequenceTracker, BeginsAtAnyNumber) {
    SequenceTracker tracker;
    EXPECT_TRUE(addRange(tracker, kWrap - 4, kWrap - 2));
    EXPECT_EQ(tracker.highest(), kWrap - 2);
    EXPECT_TRUE(tracker.add(3, 1)) << "four numbers on, not four thousand million back";
    EXPECT_EQ(tracker.highest(), kWrap + 4);
}

} // namespace
} // namespace gd::importer
