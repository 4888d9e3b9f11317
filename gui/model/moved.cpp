// SPDX-License-Identifier: Apache-2.0
#include "gui/model/moved.h"

#include "analyzer/base/statement.h"
#include "gui/model/flow_rows.h"

#include <algorithm>
#include <vector>

namespace gd::gui {

Result<MovedBytes> movedBytes(Db& db, std::int64_t fromNs, std::int64_t toNs) {
    std::vector<std::int64_t> processes;
    GD_TRY_ASSIGN(auto rows, db.prepare("SELECT process_id FROM process"));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            break;
        processes.push_back(rows.int64(0));
    }
    MovedBytes out;
    FlowRows finder(db);
    for (const std::int64_t process : processes) {
        GD_TRY_ASSIGN(const auto tracks, finder.tracks(process));
        for (const FlowRows::Track& track : tracks) {
            if (track.table != "memcpy" && track.table != "memset")
                continue;
            GD_TRY_ASSIGN(const std::int64_t first, finder.firstAt(track, fromNs));
            GD_TRY_ASSIGN(const std::int64_t past, finder.firstAt(track, toNs));
            GD_TRY_ASSIGN(auto sums,
                db.prepare(fmt::format("SELECT {}, sum(bytes) FROM {} WHERE rowid BETWEEN ?1 AND ?2 AND "
                                       "(start_ns >= ?3 OR start_ns + dur_ns > ?3) GROUP BY 1",
                    track.table == "memcpy" ? "'memcpy ' || copy_kind" : "'memset'", track.table)));
            sums.bind(1, std::max(track.first, first - 1)); // one may reach into the area
            sums.bind(2, past - 1);
            sums.bind(3, fromNs);
            while (true) {
                GD_TRY_ASSIGN(const bool more, sums.step());
                if (!more)
                    break;
                out[std::string(sums.text(0))] += sums.int64(1);
            }
        }
    }
    return out;
}

} // namespace gd::gui
