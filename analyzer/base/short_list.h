// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace gd::base {

constexpr std::size_t kShortList = 8; // items that a sentence names

// "1, 2, 5", and of more than kShortList "1, 2, … 8 and 12 more". `total`: how many there are, where `items`
// holds only the first of them.
template <class Items> std::string shortList(const Items& items, std::size_t total) {
    std::string out;
    std::size_t shown = 0;
    for (const auto& item : items) {
        if (shown == kShortList)
            break;
        out += fmt::format("{}{}", shown == 0 ? "" : ", ", item);
        ++shown;
    }
    return shown < total ? fmt::format("{} and {} more", out, total - shown) : out;
}
template <class Items> std::string shortList(const Items& items) {
    return shortList(items, items.size());
}

} // namespace gd::base
