// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/block_index.h"

#include <algorithm>
#include <map>

namespace gd::facts {

// One sweep over time with the blocks alive at each moment, by address.
void blocksAt(const std::vector<Allocation>& allocations, std::vector<BlockQuery*> queries) {
    std::vector<const Allocation*> begins;
    for (const Allocation& allocation : allocations) {
        if (allocation.kind == "framework")
            begins.push_back(&allocation);
    }
    std::vector<const Allocation*> ends;
    std::copy_if(begins.begin(), begins.end(), std::back_inserter(ends),
        [](const Allocation* block) { return block->freeNs.has_value(); });
    std::stable_sort(begins.begin(), begins.end(),
        [](const Allocation* a, const Allocation* b) { return a->allocNs < b->allocNs; });
    std::stable_sort(ends.begin(), ends.end(),
        [](const Allocation* a, const Allocation* b) { return *a->freeNs < *b->freeNs; });
    std::sort(queries.begin(), queries.end(),
        [](const BlockQuery* a, const BlockQuery* b) { return a->timeNs < b->timeNs; });
    std::map<std::uint64_t, const Allocation*> alive;
    auto begin = begins.begin();
    auto end = ends.begin();
    for (BlockQuery* query : queries) {
        // A block that is freed and one that is allocated at the same moment: the free came first.
        while (begin != begins.end() && (*begin)->allocNs <= query->timeNs) {
            for (; end != ends.end() && *(*end)->freeNs <= (*begin)->allocNs; ++end) {
                if (const auto found = alive.find((*end)->address);
                    found != alive.end() && found->second == *end)
                    alive.erase(found);
            }
            alive[(*begin)->address] = *begin;
            ++begin;
        }
        const auto behind = alive.upper_bound(query->address);
        if (behind == alive.begin())
            continue;
        const Allocation& block = *std::prev(behind)->second;
        const bool holds = query->address - block.address < static_cast<std::uint64_t>(block.bytes);
        if (holds && (!block.freeNs || *block.freeNs > query->timeNs))
            query->block = &block;
    }
}

} // namespace gd::facts
