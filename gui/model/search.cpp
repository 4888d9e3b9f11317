// SPDX-License-Identifier: Apache-2.0
#include "gui/model/search.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace gd::gui {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool holds(const std::string& text, const std::string& lowered) {
    return std::search(text.begin(), text.end(), lowered.begin(), lowered.end(), [](char a, char b) {
        return lower(a) == b;
    }) != text.end();
}

// Order of hits: by start, then row, lane and index.
using Order = std::tuple<std::int64_t, std::size_t, std::size_t, std::size_t>;

// Events that are counted without asking whether to stop.
constexpr std::size_t kAtATime = 1 << 18;

// Where a search starts: at an event, or before (backwards: behind) all events of a time.
class Place {
public:
    Place(const std::vector<RowPtr>& rows, const EventKey& from, std::int64_t fromNs, int direction)
        : m_isEvent(from)
        , m_isForward(direction > 0)
        , m_order(m_isEvent ? from.startNs() : fromNs,
              std::find(rows.begin(), rows.end(), from.row) - rows.begin(), from.lane, from.index) { }
    // Of a lane: the first event that is not before the place, and the first that is behind it.
    std::pair<std::size_t, std::size_t> in(const Lane& lane, std::size_t r, std::size_t l) const {
        const std::int64_t t = std::get<0>(m_order);
        std::size_t first = lane.lowerBound(t);
        if (!m_isEvent) {
            while (!m_isForward && first < lane.size() && lane.start(first) == t)
                ++first;
            return {first, first};
        }
        while (first < lane.size() && lane.start(first) == t && Order(t, r, l, first) < m_order)
            ++first;
        const bool isHere = first < lane.size() && Order(lane.start(first), r, l, first) == m_order;
        return {first, first + (isHere ? 1 : 0)};
    }

private:
    bool m_isEvent;
    bool m_isForward;
    Order m_order;
};

} // namespace

std::vector<bool> namesWith(const NameTable& names, const std::string& text) {
    std::string wanted = text;
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), lower);
    std::vector<bool> out(names.size());
    for (std::size_t id = 0; id < out.size() && !wanted.empty(); ++id)
        out[id] = holds(names[static_cast<std::uint32_t>(id)].text, wanted);
    return out;
}

SearchResult searchEvents(const std::vector<RowPtr>& rows, const std::vector<bool>& marked,
    const EventKey& from, std::int64_t fromNs, int direction, const std::atomic<bool>& stop) {
    SearchResult out;
    const WantedNames wanted(marked.begin(), marked.end()); // bytes are faster to ask than bits
    const Place here(rows, from, fromNs, direction);
    std::optional<Order> nearest; // in the direction
    std::optional<Order> outermost; // where it goes round to
    const auto nearer = [direction](const Order& a, const Order& b) { return direction > 0 ? a < b : a > b; };
    const auto offer = [&](std::optional<Order>& best, std::size_t r, std::size_t l, std::size_t i) {
        const Lane& lane = *rows[r]->lanes[l];
        if (i >= lane.size())
            return;
        const Order order(lane.start(i), r, l, i);
        if (!best || nearer(order, *best))
            best = order;
    };
    std::int64_t before = 0; // hits up to and including where it starts
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r]->kind == RowKind::comm)
            continue;
        const std::int64_t hitsBefore = out.count;
        for (std::size_t l = 0; l < rows[r]->lanes.size(); ++l) {
            const Lane& lane = *rows[r]->lanes[l];
            const auto [first, past] = here.in(lane, r, l);
            // Some at a time, so that it can be stopped.
            for (std::size_t i = 0; i < lane.size(); i += kAtATime) {
                if (stop)
                    return {};
                const std::size_t end = std::min(lane.size(), i + kAtATime);
                const std::size_t middle = std::clamp(past, i, end);
                const auto passed = static_cast<std::int64_t>(lane.countNamed(wanted, i, middle));
                before += passed;
                out.count += passed + static_cast<std::int64_t>(lane.countNamed(wanted, middle, end));
            }
            if (direction > 0) {
                offer(nearest, r, l, lane.nextNamed(wanted, past, lane.size()));
                offer(outermost, r, l, lane.nextNamed(wanted, 0, lane.size()));
            } else {
                const std::size_t last = lane.lastNamed(wanted, 0, first);
                offer(nearest, r, l, last < first ? last : lane.size());
                offer(outermost, r, l, lane.lastNamed(wanted, 0, lane.size()));
            }
        }
        if (out.count > hitsBefore)
            out.rows.push_back({rows[r], out.count - hitsBefore});
    }
    if (!outermost)
        return out;
    const Order& hit = nearest ? *nearest : *outermost;
    out.hit = {rows[std::get<1>(hit)], std::get<2>(hit), std::get<3>(hit)};
    if (!nearest)
        out.position = direction > 0 ? 1 : out.count;
    else if (direction > 0)
        out.position = before + 1;
    else {
        // `before` counts the event that the search starts from when it is a hit itself.
        const bool startIsHit = from && from.name() < marked.size() && marked[from.name()];
        out.position = before - (startIsHit ? 1 : 0);
    }
    return out;
}

} // namespace gd::gui
