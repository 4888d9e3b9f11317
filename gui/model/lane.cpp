// SPDX-License-Identifier: Apache-2.0
#include "gui/model/lane.h"

#include "analyzer/base/check.h"

#include <algorithm>
#include <limits>

namespace gd::gui {
namespace {

constexpr std::size_t kFan = 4;
constexpr std::int64_t kMost32 = 0xffffffff;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMergedRuns = 8;

} // namespace

std::size_t Lane::searchBlocks(std::int64_t t, std::size_t guess) const {
    const std::size_t blocks = m_blocks.size();
    std::size_t low = 0; // so many begin before t
    std::size_t high = guess; // that one does not, or there is none
    std::size_t step = 1;
    if (m_heads[high].startNs < t) {
        while (high < blocks && m_heads[high].startNs < t) {
            low = high + 1;
            high = std::min(high + step, blocks);
            step *= 2;
        }
    } else {
        while (low < high) {
            const std::size_t below = high - low > step ? high - step : low;
            if (m_heads[below].startNs < t) {
                low = below + 1;
                break;
            }
            high = below;
            step *= 2;
        }
    }
    const auto begin = m_heads.begin();
    return static_cast<std::size_t>(
        std::partition_point(begin + static_cast<std::ptrdiff_t>(low),
            begin + static_cast<std::ptrdiff_t>(high), [t](const Head& head) { return head.startNs < t; })
        - begin);
}

std::size_t Lane::lowerBoundIn(std::size_t blocksBefore, std::int64_t t) const {
    if (blocksBefore == 0)
        return 0;
    const std::size_t first = (blocksBefore - 1) * kBlock;
    const std::size_t count = std::min(kBlock, size() - first);
    const Block& block = m_blocks[blocksBefore - 1];
    if (block.isWide()) {
        const auto begin = wide(block).starts.begin();
        return first
            + static_cast<std::size_t>(
                std::lower_bound(begin, begin + static_cast<std::ptrdiff_t>(count), t) - begin);
    }
    const std::int64_t since = t - m_heads[blocksBefore - 1].startNs; // above 0
    if (since > kMost32)
        return first + count;
    // All of them without a branch, which the compiler makes four steps of.
    const auto offset = static_cast<std::uint32_t>(since);
    std::uint32_t below = 0;
    for (const std::uint32_t other : block.offsets)
        below += other < offset ? 1 : 0;
    return first + below;
}

std::size_t Lane::firstEndingAfter(std::int64_t t) const {
    const std::size_t at = lowerBound(t);
    return at > 0 && end(at - 1) > t ? at - 1 : at;
}

std::int64_t Lane::durationOf(const Longest& longest) const {
    return longest.durNs == kMost32 ? duration(longest.index) : longest.durNs;
}

Lane::Longest Lane::better(const Longest& a, const Longest& b) const {
    std::int64_t da = a.durNs;
    std::int64_t db = b.durNs;
    if (da == kMost32 && db == kMost32) {
        da = duration(a.index);
        db = duration(b.index);
    }
    return db > da || (db == da && b.index < a.index) ? b : a;
}

Lane::Best Lane::longestInBlock(std::size_t from, std::size_t to) const {
    const Block& block = m_blocks[from / kBlock];
    const std::size_t first = from / kBlock * kBlock;
    if (block.isWide()) {
        Best best;
        for (std::size_t i = from; i < to; ++i) {
            if (const std::int64_t durNs = duration(i); durNs > best.durNs)
                best = {i, durNs};
        }
        return best;
    }
    // Duration and place in one number, of equal durations the first place being the largest.
    std::uint64_t best = 0;
    std::uint32_t before = from == first ? 0 : block.sums[from - first - 1];
    for (std::size_t k = from - first; k < to - first; ++k) {
        const std::uint64_t durNs = block.sums[k] - before;
        before = block.sums[k];
        best = std::max(best, durNs * kBlock + (kBlock - 1 - k));
    }
    return {first + (kBlock - 1 - best % kBlock), static_cast<std::int64_t>(best / kBlock)};
}

std::size_t Lane::longest(std::size_t from, std::size_t to) const {
    Best best;
    const auto take = [&best](const Best& other) { best = other.durNs > best.durNs ? other : best; };
    std::size_t i = from;
    if (i % kBlock != 0) {
        const std::size_t end = std::min(to, (i / kBlock + 1) * kBlock);
        take(longestInBlock(i, end));
        i = end;
    }
    while (to - i >= kBlock) {
        // The largest block that starts here and ends in the range.
        std::size_t level = 0;
        std::size_t width = kBlock;
        while (level + 1 < m_maxima.size() && i % (width * kFan) == 0 && i + width * kFan <= to) {
            ++level;
            width *= kFan;
        }
        const Longest& whole = m_maxima[level][i / width];
        take({whole.index, durationOf(whole)});
        i += width;
    }
    if (i < to)
        take(longestInBlock(i, to));
    return best.index;
}

std::size_t Lane::nextAtLeast(std::size_t from, std::size_t to, std::int64_t durNs) const {
    std::size_t i = from;
    while (i < to) {
        // Skips the largest block from here that holds no such event.
        std::size_t skip = 0;
        std::size_t width = kBlock;
        for (const auto& level : m_maxima) {
            if (i % width != 0 || durationOf(level[i / width]) >= durNs)
                break;
            skip = width;
            width *= kFan;
        }
        if (skip == 0) {
            if (duration(i) >= durNs)
                return i;
            skip = 1;
        }
        i += skip;
    }
    return to;
}

std::size_t Lane::bytes() const {
    std::size_t out = m_heads.capacity() * sizeof(Head) + m_blocks.capacity() * sizeof(Block)
        + m_wide.capacity() * sizeof(WideBlock)
        + (m_names.capacity() + m_rows.capacity()) * sizeof(std::uint32_t) + m_counts.bytes();
    for (const auto& level : m_maxima)
        out += level.capacity() * sizeof(Longest);
    return out;
}

// Fills one lane, event by event and block by block.
class LaneFiller {
public:
    explicit LaneFiller(std::size_t events)
        : m_lane(std::make_shared<Lane>()) {
        const std::size_t blocks = (events + Lane::kBlock - 1) / Lane::kBlock;
        m_lane->m_heads.reserve(blocks + 1);
        m_lane->m_blocks.reserve(blocks);
        m_lane->m_names.reserve(events);
        m_lane->m_rows.reserve(events);
        m_level.reserve(blocks);
    }
    void add(const Event& event) {
        // What every search rests on.
        GD_CHECK(m_lane->size() == 0 || m_endNs <= event.startNs);
        m_endNs = event.startNs + event.durNs;
        m_block.starts[m_filled] = event.startNs;
        m_block.sums[m_filled] = (m_filled == 0 ? 0 : m_block.sums[m_filled - 1]) + event.durNs;
        m_lane->m_names.push_back(event.name);
        m_lane->m_rows.push_back(event.row);
        if (++m_filled == Lane::kBlock)
            close();
    }
    std::shared_ptr<const Lane> take() && {
        if (m_filled > 0)
            close();
        m_lane->m_heads.push_back({kNever, m_busyNs});
        m_lane->m_maxima.push_back(std::move(m_level));
        while (m_lane->m_maxima.back().size() > 1)
            m_lane->m_maxima.push_back(above(m_lane->m_maxima.back()));
        m_lane->m_counts = NameCounts(m_lane->m_names);
        return std::move(m_lane);
    }

private:
    void close() {
        const std::int64_t startNs = m_block.starts[0];
        const std::size_t first = m_lane->m_blocks.size() * Lane::kBlock;
        m_lane->m_heads.push_back({startNs, m_busyNs});
        Lane::Block block{};
        block.offsets.fill(static_cast<std::uint32_t>(kMost32));
        // Without a sign: times of a damaged trace can be further apart than a signed number holds.
        const auto spanNs
            = static_cast<std::uint64_t>(m_block.starts[m_filled - 1]) - static_cast<std::uint64_t>(startNs);
        if (spanNs > std::uint64_t{0xffffffff} || m_block.sums[m_filled - 1] > kMost32) {
            m_lane->m_wide.push_back(m_block);
            block.offsets[0] = static_cast<std::uint32_t>(m_lane->m_wide.size());
        } else {
            for (std::size_t k = 0; k < m_filled; ++k) {
                block.offsets[k] = static_cast<std::uint32_t>(m_block.starts[k] - startNs);
                block.sums[k] = static_cast<std::uint32_t>(m_block.sums[k]);
            }
        }
        m_lane->m_blocks.push_back(block);
        const auto best = m_lane->longestInBlock(first, first + m_filled);
        m_level.push_back({static_cast<std::uint32_t>(best.index),
            static_cast<std::uint32_t>(std::min(best.durNs, kMost32))});
        m_busyNs += m_block.sums[m_filled - 1];
        m_filled = 0;
    }
    std::vector<Lane::Longest> above(const std::vector<Lane::Longest>& below) const {
        std::vector<Lane::Longest> level((below.size() + kFan - 1) / kFan);
        for (std::size_t b = 0; b < level.size(); ++b) {
            level[b] = below[b * kFan];
            for (std::size_t i = b * kFan + 1; i < std::min(below.size(), (b + 1) * kFan); ++i)
                level[b] = m_lane->better(level[b], below[i]);
        }
        return level;
    }

    std::shared_ptr<Lane> m_lane;
    std::vector<Lane::Longest> m_level;
    Lane::WideBlock m_block{}; // what has no block yet
    std::size_t m_filled = 0;
    std::int64_t m_busyNs = 0; // of closed blocks
    std::int64_t m_endNs = 0;
};

void LaneBuilder::add(const Event& event) {
    if (!m_events.empty() && event.startNs < m_events.back().startNs)
        m_runs.push_back(m_events.size());
    m_events.push_back(event);
    m_events.back().durNs = std::max<std::int64_t>(0, event.durNs);
}

// Tables of one row are sorted each: merging them is cheaper than sorting all.
void LaneBuilder::sort() {
    const auto earlier = [](const Event& a, const Event& b) { return a.startNs < b.startNs; };
    if (m_runs.size() > kMergedRuns) {
        std::stable_sort(m_events.begin(), m_events.end(), earlier);
        return;
    }
    const auto at = [this](std::size_t i) { return m_events.begin() + static_cast<std::ptrdiff_t>(i); };
    for (std::size_t i = 0; i < m_runs.size(); ++i) {
        const std::size_t end = i + 1 < m_runs.size() ? m_runs[i + 1] : m_events.size();
        std::inplace_merge(m_events.begin(), at(m_runs[i]), at(end), earlier);
    }
}

LaneBuilder::Built LaneBuilder::build() && {
    sort();

    // First pass: lane of each event and sizes, so that no vector grows beyond what it holds.
    std::vector<std::int64_t> freeAt;
    std::vector<std::size_t> counts;
    std::vector<std::uint16_t> laneOf(m_events.size());
    constexpr std::uint16_t kNone = 0xffff;
    Built out;
    for (std::size_t i = 0; i < m_events.size(); ++i) {
        const Event& event = m_events[i];
        const auto place = std::find_if(
            freeAt.begin(), freeAt.end(), [&](std::int64_t free) { return free <= event.startNs; });
        const auto lane = static_cast<std::size_t>(place - freeAt.begin());
        if (lane >= kMaxLanes) {
            laneOf[i] = kNone;
            ++out.leftOut;
            continue;
        }
        if (place == freeAt.end()) {
            freeAt.push_back(0);
            counts.push_back(0);
        }
        freeAt[lane] = event.startNs + event.durNs;
        ++counts[lane];
        laneOf[i] = static_cast<std::uint16_t>(lane);
    }

    std::vector<LaneFiller> lanes(counts.begin(), counts.end());
    for (std::size_t i = 0; i < m_events.size(); ++i) {
        if (laneOf[i] != kNone)
            lanes[laneOf[i]].add(m_events[i]);
    }
    std::vector<Event>().swap(m_events);
    for (LaneFiller& lane : lanes)
        out.lanes.push_back(std::move(lane).take());
    return out;
}

} // namespace gd::gui
