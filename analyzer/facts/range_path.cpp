// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/range_path.h"

#include <algorithm>
#include <vector>

namespace gd::facts {

std::string rangePathAt(
    const RawData& raw, const ProcessData& process, std::int32_t threadId, std::int64_t timeNs) {
    // A range that encloses this many others before the time is looked for would name nothing useful.
    constexpr std::size_t kMaxLookBack = 20'000;
    constexpr std::size_t kMaxDepth = 64; // more cannot be read
    auto after = std::upper_bound(process.ranges.begin(), process.ranges.end(), std::pair(threadId, timeNs),
        [](const auto& key, const Range& range) { return key < std::pair(range.threadId, range.startNs); });
    std::vector<const Range*> open;
    for (std::size_t looked = 0;
         after != process.ranges.begin() && looked < kMaxLookBack && open.size() < kMaxDepth; ++looked) {
        --after;
        if (after->threadId != threadId)
            break;
        if (!after->isMark && after->endNs > timeNs)
            open.push_back(&*after);
    }
    std::string path;
    for (std::size_t i = open.size(); i-- > 0;) {
        if (!path.empty())
            path += '/';
        path += raw.string(open[i]->nameId);
    }
    return path;
}

} // namespace gd::facts
