// SPDX-License-Identifier: Apache-2.0
#include "gui/model/search.h"

#include <algorithm>
#include <tuple>

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
    const auto rowNumber
        = static_cast<std::size_t>(std::find(rows.begin(), rows.end(), from.row) - rows.begin());
    const Order here = from ? Order(from.startNs(), rowNumber, from.lane, from.index)
                            : Order(fromNs, direction > 0 ? 0 : rows.size(), 0, 0);
    const std::vector<std::uint8_t> wanted(marked.begin(), marked.end()); // bytes are faster to ask than bits
    Order best; // nearest in the direction
    Order first; // where it goes round to
    bool found = false;
    bool any = false;
    std::int64_t before = 0; // hits up to and including `here`
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r]->kind == RowKind::comm)
            continue;
        const std::int64_t hitsBefore = out.count;
        for (std::size_t l = 0; l < rows[r]->lanes.size(); ++l) {
            const Lane& lane = *rows[r]->lanes[l];
            for (std::size_t i = 0; i < lane.size(); ++i) {
                if (i % 65536 == 0 && stop)
                    return {};
                const std::uint32_t name = lane.name(i);
                if (name >= wanted.size() || wanted[name] == 0)
                    continue;
                const Order order(lane.start(i), r, l, i);
                ++out.count;
                before += order <= here ? 1 : 0;
                const bool ahead = direction > 0 ? order > here : order < here;
                const auto nearer
                    = [direction](const Order& a, const Order& b) { return direction > 0 ? a < b : a > b; };
                if (ahead && (!found || nearer(order, best))) {
                    best = order;
                    found = true;
                }
                if (!any || nearer(order, first)) {
                    first = order;
                    any = true;
                }
            }
        }
        if (out.count > hitsBefore)
            out.rows.push_back({rows[r], out.count - hitsBefore});
    }
    if (!any)
        return out;
    const Order& hit = found ? best : first;
    out.hit = {rows[std::get<1>(hit)], std::get<2>(hit), std::get<3>(hit)};
    if (!found)
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
