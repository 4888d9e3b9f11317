// SPDX-License-Identifier: Apache-2.0
#include "gui/model/lane.h"

#include "analyzer/base/check.h"

#include <algorithm>

namespace gd::gui {
namespace {

constexpr std::size_t kBlock = 4;
constexpr std::size_t kFan = 4;
constexpr std::int64_t kMostDuration = 0xffffffff;
constexpr std::size_t kMergedRuns = 8;

} // namespace

std::size_t Lane::lowerBound(std::int64_t t) const {
    return static_cast<std::size_t>(std::lower_bound(m_starts.begin(), m_starts.end(), t) - m_starts.begin());
}

std::size_t Lane::lowerBoundFrom(std::size_t from, std::size_t guess, std::int64_t t) const {
    std::size_t low = from;
    std::size_t high = std::clamp(guess, from, size());
    std::size_t step = 1;
    if (high < size() && m_starts[high] < t) {
        while (high < size() && m_starts[high] < t) {
            low = high + 1;
            high += step;
            step *= 2;
        }
        high = std::min(high, size());
    } else {
        while (low < high) {
            const std::size_t below = high - low > step ? high - step : low;
            if (m_starts[below] < t) {
                low = below + 1;
                break;
            }
            high = below;
            step *= 2;
        }
    }
    const auto begin = m_starts.begin();
    return static_cast<std::size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                        begin + static_cast<std::ptrdiff_t>(high), t)
        - begin);
}

std::size_t Lane::firstEndingAfter(std::int64_t t) const {
    const std::size_t at = lowerBound(t);
    return at > 0 && end(at - 1) > t ? at - 1 : at;
}

Lane::Longest Lane::entry(std::size_t i) const {
    return {static_cast<std::uint32_t>(i),
        static_cast<std::uint32_t>(std::min<std::int64_t>(duration(i), kMostDuration))};
}

Lane::Longest Lane::better(const Longest& a, const Longest& b) const {
    std::int64_t da = a.durNs;
    std::int64_t db = b.durNs;
    if (da == kMostDuration && db == kMostDuration) {
        da = duration(a.index);
        db = duration(b.index);
    }
    return db > da || (db == da && b.index < a.index) ? b : a;
}

std::size_t Lane::longest(std::size_t from, std::size_t to) const {
    std::size_t best = from;
    std::int64_t most = -1;
    std::size_t i = from;
    while (i < to) {
        // The largest block that starts here and ends in the range.
        std::size_t width = 1;
        const std::vector<Longest>* level = nullptr;
        std::size_t next = kBlock;
        for (const auto& candidate : m_maxima) {
            if (i % next != 0 || i + next > to)
                break;
            width = next;
            level = &candidate;
            next *= kFan;
        }
        std::size_t at = i;
        std::int64_t durNs = kMostDuration;
        if (level != nullptr) {
            at = (*level)[i / width].index;
            durNs = (*level)[i / width].durNs;
        }
        if (durNs == kMostDuration) // cut, or not known yet
            durNs = duration(at);
        if (durNs > most) {
            most = durNs;
            best = at;
        }
        i += width;
    }
    return best;
}

std::size_t Lane::nextAtLeast(std::size_t from, std::size_t to, std::int64_t durNs) const {
    std::size_t i = from;
    while (i < to) {
        // Skips the largest block from here that holds no such event.
        std::size_t skip = 0;
        std::size_t width = kBlock;
        for (const auto& level : m_maxima) {
            if (i % width != 0 || duration(level[i / width].index) >= durNs)
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
    std::size_t out = (m_starts.capacity() + m_prefix.capacity()) * sizeof(std::int64_t)
        + (m_names.capacity() + m_rows.capacity()) * sizeof(std::uint32_t);
    for (const auto& level : m_maxima)
        out += level.capacity() * sizeof(Longest);
    return out;
}

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

    std::vector<std::shared_ptr<Lane>> lanes;
    for (const std::size_t count : counts) {
        auto lane = std::make_shared<Lane>();
        lane->m_starts.reserve(count);
        lane->m_prefix.reserve(count + 1);
        lane->m_prefix.push_back(0);
        lane->m_names.reserve(count);
        lane->m_rows.reserve(count);
        lanes.push_back(std::move(lane));
    }
    for (std::size_t i = 0; i < m_events.size(); ++i) {
        if (laneOf[i] == kNone)
            continue;
        Lane& lane = *lanes[laneOf[i]];
        const Event& event = m_events[i];
        // What every search rests on.
        GD_CHECK(lane.size() == 0 || lane.end(lane.size() - 1) <= event.startNs);
        lane.m_starts.push_back(event.startNs);
        lane.m_prefix.push_back(lane.m_prefix.back() + event.durNs);
        lane.m_names.push_back(event.name);
        lane.m_rows.push_back(event.row);
    }
    std::vector<Event>().swap(m_events);

    for (auto& lane : lanes) {
        const auto above = [&lane](std::size_t count, std::size_t width, auto&& at) {
            std::vector<Lane::Longest> level((count + width - 1) / width);
            for (std::size_t b = 0; b < level.size(); ++b) {
                level[b] = at(b * width);
                for (std::size_t i = b * width + 1; i < std::min(count, (b + 1) * width); ++i)
                    level[b] = lane->better(level[b], at(i));
            }
            return level;
        };
        lane->m_maxima.push_back(above(lane->size(), kBlock, [&](std::size_t i) { return lane->entry(i); }));
        while (lane->m_maxima.back().size() > 1) {
            const auto& below = lane->m_maxima.back();
            lane->m_maxima.push_back(above(below.size(), kFan, [&](std::size_t i) { return below[i]; }));
        }
        out.lanes.push_back(std::move(lane));
    }
    return out;
}

} // namespace gd::gui
