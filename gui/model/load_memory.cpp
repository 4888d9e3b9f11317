// SPDX-License-Identifier: Apache-2.0
#include "gui/model/load_memory.h"

#include "gui/model/words.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace gd::gui {

Result<std::vector<Draft>> readMemoryRows(Db& db, const std::atomic<bool>& stop) {
    enum Row : std::int64_t { driver, framework, inUse };
    constexpr const char* kTitles[] = {QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1: framework's blocks"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1: in use by anybody")};
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<StepCurve::Point>> curves;
    GD_TRY(eachRow(db,
        "SELECT a.process_id, a.device_id, a.kind, a.bytes, a.alloc_ns, a.free_ns FROM allocation AS a "
        "LEFT JOIN device AS d ON d.process_id = a.process_id AND d.device_id = a.device_id "
        "WHERE a.device_id IS NOT NULL AND a.kind NOT LIKE 'host%' "
        "AND (a.kind != 'graph' OR d.workers > 0)",
        stop, [&](const Statement& r) {
            auto& changes = curves[{r.int64(0), r.int64(1), r.text(2) == "framework" ? framework : driver}];
            changes.push_back({r.int64(4), r.int64(3)});
            if (!r.isNull(5))
                changes.push_back({r.int64(5), -r.int64(3)});
        }));
    for (auto& [key, points] : curves) {
        // Frees before allocations of the same moment: a block handed on at once makes no peak.
        std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
            return a.timeNs != b.timeNs ? a.timeNs < b.timeNs : a.value < b.value;
        });
        std::int64_t sum = 0;
        for (auto& point : points)
            point.value = sum += point.value;
    }
    GD_TRY(eachRow(db,
        "SELECT process_id, device_id, time_ns, total_bytes - free_bytes FROM memory_sample "
        "ORDER BY time_ns",
        stop, [&](const Statement& r) {
            curves[{r.int64(0), r.int64(1), inUse}].push_back({r.int64(2), r.int64(3)});
        }));
    std::vector<Draft> out;
    for (auto& [key, points] : curves) {
        Draft draft;
        draft.row.kind = RowKind::memory;
        std::tie(draft.row.process, draft.row.device, draft.row.number) = key;
        draft.row.title = Words::fill(Words::tr(kTitles[draft.row.number]), draft.row.device);
        draft.row.curve = std::make_shared<const StepCurve>(std::move(points));
        out.push_back(std::move(draft));
    }
    return out;
}

} // namespace gd::gui
