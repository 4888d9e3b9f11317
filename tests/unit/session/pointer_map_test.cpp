// SPDX-License-Identifier: Apache-2.0
#include "collector/session/pointer_map.h"

#include "collector/session/flat_map.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <unordered_map>

namespace gd::session {

namespace {

/// The same promise, kept the slow way.
class SlowMap {
public:
    void insert(std::uint64_t address, std::uint64_t bytes, std::uint64_t id) {
        bytes = bytes == 0 ? 1 : bytes;
        for (auto it = m_ranges.begin(); it != m_ranges.end();) {
            const bool overlaps = it->first < address + bytes && address < it->first + it->second.first;
            it = overlaps ? m_ranges.erase(it) : std::next(it);
        }
        m_ranges[address] = {bytes, id};
    }
    std::uint64_t find(std::uint64_t address) const {
        for (const auto& [from, range] : m_ranges) {
            if (address >= from && address < from + range.first) {
                return range.second;
            }
        }
        return 0;
    }
    std::uint64_t erase(std::uint64_t address) {
        const auto it = m_ranges.find(address);
        const std::uint64_t id = it == m_ranges.end() ? 0 : it->second.second;
        if (it != m_ranges.end()) {
            m_ranges.erase(it);
        }
        return id;
    }
    std::size_t size() const { return m_ranges.size(); }

private:
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> m_ranges;
};

} // namespace

TEST(PointerMap, FindsExactlyTheRangeThatHoldsAnAddress) {
    PointerMap map;
    ASSERT_TRUE(map.insert({0x1000, 0x100, 1, 1, 0, 0, 0}));
    ASSERT_TRUE(map.insert({0x1100, 0x100, 2, 1, 0, 0, 0}));
    EXPECT_EQ(map.find(0xfff), nullptr);
    EXPECT_EQ(map.find(0x1000)->allocation, 1u);
    EXPECT_EQ(map.find(0x10ff)->allocation, 1u);
    EXPECT_EQ(map.find(0x1100)->allocation, 2u);
    EXPECT_EQ(map.find(0x1200), nullptr);
}

TEST(PointerMap, EraseWantsTheFirstAddress) {
    PointerMap map;
    LiveRange removed{};
    ASSERT_TRUE(map.insert({0x1000, 0x100, 1, 1, 0, 0, 0}));
    EXPECT_FALSE(map.erase(0x1010, removed));
    EXPECT_TRUE(map.erase(0x1000, removed));
    EXPECT_EQ(removed.allocation, 1u);
    EXPECT_FALSE(map.erase(0x1000, removed));
    EXPECT_EQ(map.size(), 0u);
}

TEST(PointerMap, BehavesLikeALinearSearch) {
    for (const unsigned spread : {2'000u, 100'000u}) {
        std::mt19937 random(spread);
        PointerMap map;
        SlowMap slow;
        for (std::uint64_t step = 1; step <= 20'000; ++step) {
            const std::uint64_t address = random() % spread;
            const std::uint64_t bytes = random() % 30;
            if (random() % 5 < 3) {
                ASSERT_TRUE(map.insert({address, bytes, step, 1, 0, 0, 0}));
                slow.insert(address, bytes, step);
            } else {
                LiveRange removed{};
                const std::uint64_t expected = slow.erase(address);
                ASSERT_EQ(map.erase(address, removed) ? removed.allocation : 0, expected);
            }
            ASSERT_EQ(map.size(), slow.size());
            const std::uint64_t probe = random() % spread;
            const LiveRange* found = map.find(probe);
            ASSERT_EQ(found != nullptr ? found->allocation : 0, slow.find(probe)) << "step " << step;
        }
    }
}

TEST(PointerMap, RangesAtTheEndOfTheAddressSpace) {
    PointerMap map;
    ASSERT_TRUE(map.insert({~std::uint64_t{0} - 15, 16, 1, 1, 0, 0, 0}));
    EXPECT_EQ(map.find(~std::uint64_t{0})->allocation, 1u);
    ASSERT_TRUE(map.insert({~std::uint64_t{0} - 7, 8, 2, 1, 0, 0, 0}));
    EXPECT_EQ(map.find(~std::uint64_t{0} - 15), nullptr);
    EXPECT_EQ(map.find(~std::uint64_t{0})->allocation, 2u);
}

TEST(FlatMap, BehavesLikeTheStandardMap) {
    std::mt19937 random(7);
    FlatMap<std::uint64_t> map;
    std::unordered_map<std::uint64_t, std::uint64_t> expected;
    for (std::uint64_t step = 1; step <= 200'000; ++step) {
        const std::uint64_t key = 1 + random() % 3000;
        if (random() % 2 == 0) {
            *map.insert(key) = step;
            expected[key] = step;
        } else {
            ASSERT_EQ(map.erase(key), expected.erase(key) == 1);
        }
        const std::uint64_t probe = 1 + random() % 3000;
        const std::uint64_t* found = map.find(probe);
        ASSERT_EQ(found != nullptr, expected.count(probe) == 1);
        ASSERT_TRUE(found == nullptr || *found == expected[probe]);
    }
    EXPECT_EQ(map.size(), expected.size());
}

} // namespace gd::session
