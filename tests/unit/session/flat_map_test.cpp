// SPDX-License-Identifier: Apache-2.0
#include "collector/session/flat_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gd::session {

TEST(FlatMap, DoesWhatAMapDoes) {
    std::mt19937 random(7);
    FlatMap<std::uint32_t> map;
    std::map<std::uint64_t, std::uint32_t> expected;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t key = 1 + random() % 700;
        if (random() % 3 == 0) {
            EXPECT_EQ(map.erase(key), expected.erase(key) == 1);
        } else {
            *map.insert(key) = static_cast<std::uint32_t>(i);
            expected[key] = static_cast<std::uint32_t>(i);
        }
    }
    EXPECT_EQ(map.size(), expected.size());
    for (const auto& [key, value] : expected) {
        ASSERT_NE(map.find(key), nullptr);
        EXPECT_EQ(*map.find(key), value);
    }
}

TEST(FlatMap, HoldsNoMoreThanAskedForHoweverManyCome) {
    FlatMap<std::uint32_t> map;
    for (std::uint64_t key = 1; key <= 100'000; ++key) {
        *map.insertAmong(key, 1000) = static_cast<std::uint32_t>(key);
        ASSERT_LE(map.size(), 1000U);
        ASSERT_EQ(*map.find(key), key) << "the latest is there";
    }
    const std::size_t before = map.size();
    *map.insertAmong(100'000, before) = 5; // a known one displaces nothing
    EXPECT_EQ(map.size(), before);
}

} // namespace gd::session
