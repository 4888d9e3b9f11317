// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/order.h"

namespace gd::report {

std::size_t alikeByOrder(const std::vector<std::vector<std::string_view>>& kinds) {
    for (std::size_t number = 0;; ++number) {
        std::string_view first;
        bool isMade = false;
        for (const std::vector<std::string_view>& rank : kinds) {
            if (number >= rank.size())
                continue;
            if (isMade && rank[number] != first)
                return number;
            first = rank[number];
            isMade = true;
        }
        if (!isMade)
            return number;
    }
}

} // namespace gd::report
