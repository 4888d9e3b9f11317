// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <vector>

namespace gd::facts {

// A question to blocksAt(), and its answer.
struct BlockQuery {
    std::uint64_t address = 0;
    std::int64_t timeNs = 0;
    const Allocation* block = nullptr;
};

// Finds, for each query, the block of a framework's caching allocator that held the address at that time;
// nullptr where none did. The queries are reordered by time.
void blocksAt(const std::vector<Allocation>& allocations, std::vector<BlockQuery*> queries);

} // namespace gd::facts
