// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gd::report {

// The calls that several ranks made on one communicator belong together by their number, the first of one
// rank and the first of each other, as long as they are of one kind. How many from the first on are; ranks
// that made fewer calls do not matter after their last one. `kinds`: of each rank's calls in their order.
std::size_t alikeByOrder(const std::vector<std::vector<std::string_view>>& kinds);

} // namespace gd::report
