// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/statement.h"
#include "gui/model/lane.h"
#include "gui/model/track_row.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::gui {

// Parts of loadTracks() that its files share.

// A row that is being read.
struct Draft {
    TrackRow row;
    LaneBuilder lanes;
    std::map<std::int64_t, LaneBuilder> groups; // what has lanes of its own, below the others

    std::size_t slice(const std::string& table, std::int64_t firstRowId) {
        row.slices.push_back({table, firstRowId});
        return row.slices.size() - 1;
    }
    // Whether TrackRow::encode() has room for a row.
    bool canHold(std::size_t slice, std::int64_t rowId) const {
        const std::int64_t offset = rowId - row.slices[slice].firstRowId;
        return offset >= 0 && offset < (std::int64_t{1} << TrackRow::kOffsetBits);
    }
    Event event(std::size_t slice, std::int64_t rowId, std::int64_t startNs, std::int64_t endNs,
        std::uint32_t name) const {
        return {
            startNs, endNs - startNs, name, TrackRow::encode(slice, rowId - row.slices[slice].firstRowId)};
    }
    void add(
        std::size_t slice, std::int64_t rowId, std::int64_t startNs, std::int64_t endNs, std::uint32_t name) {
        addTo(lanes, slice, rowId, startNs, endNs, name);
    }
    void addTo(LaneBuilder& to, std::size_t slice, std::int64_t rowId, std::int64_t startNs,
        std::int64_t endNs, std::uint32_t name) const {
        if (canHold(slice, rowId))
            to.add(event(slice, rowId, startNs, endNs, name));
    }
    // Makes the row's lanes; returns how many events have no place in them.
    std::size_t build() {
        LaneBuilder::Built built = std::move(lanes).build();
        row.lanes = std::move(built.lanes);
        for (auto& [group, builder] : groups) {
            LaneBuilder::Built own = std::move(builder).build();
            row.lanes.insert(row.lanes.end(), own.lanes.begin(), own.lanes.end());
            built.leftOut += own.leftOut;
        }
        return built.leftOut;
    }
};

// One entry of table `track`. -1: none.
struct Track {
    std::string table;
    std::int64_t process = 0, device = -1, number = -1, first = 0, last = -1;
    std::string name;
};

// Ids of a table to ids of names. Most are small and dense: asked for millions of events, a vector answers.
class NameIds {
public:
    void set(std::int64_t id, std::uint32_t name) {
        if (id < 0 || id >= kDense) {
            m_sparse[id] = name;
            return;
        }
        const auto at = static_cast<std::size_t>(id);
        if (at >= m_dense.size())
            m_dense.resize(at + 1, kNone);
        m_dense[at] = name;
    }
    std::uint32_t get(std::int64_t id, std::uint32_t otherwise) const {
        if (id >= 0 && static_cast<std::size_t>(id) < m_dense.size()) {
            const std::uint32_t name = m_dense[static_cast<std::size_t>(id)];
            return name == kNone ? otherwise : name;
        }
        const auto at = m_sparse.find(id);
        return at == m_sparse.end() ? otherwise : at->second;
    }

private:
    static constexpr std::int64_t kDense = 1 << 22;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<std::uint32_t> m_dense;
    std::unordered_map<std::int64_t, std::uint32_t> m_sparse;
};

// Calls `use` with each row; ends early once `stop` is true.
template <class F> Result<void> eachRow(Statement& rows, const std::atomic<bool>& stop, F&& use) {
    for (std::size_t n = 0;; ++n) {
        if (n % 4096 == 0 && stop)
            return {};
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return {};
        use(rows);
    }
}
template <class F>
Result<void> eachRow(Db& db, const std::string& sql, const std::atomic<bool>& stop, F&& use) {
    GD_TRY_ASSIGN(auto rows, db.prepare(sql));
    return eachRow(rows, stop, use);
}

} // namespace gd::gui
