// SPDX-License-Identifier: Apache-2.0
// Tables eager_launch and launch_scalar.
#include "analyzer/import/import_context.h"

#include <algorithm>
#include <tuple>

namespace gd::importer {

Result<void> importLaunches(ProcessImport& process) {
    std::vector<raw::EagerLaunch>& launches = process.raw().eagerLaunches;
    std::sort(launches.begin(), launches.end(), [](const raw::EagerLaunch& a, const raw::EagerLaunch& b) {
        return std::tie(a.timeNs, a.header.sequence) < std::tie(b.timeNs, b.header.sequence);
    });
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO eager_launch(process_id, launch_id, time_ns, thread_id, stream_id, "
                             "shape_id, scalar_set_id, range_path) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    std::int64_t id = 0;
    for (const raw::EagerLaunch& launch : launches)
        GD_TRY(insert.runWith(process.processId(), ++id, process.time(launch.timeNs), launch.thread,
            idOrNull(launch.stream), process.shape(launch.shape).shapeId, idOrNull(launch.scalars),
            process.text(launch.rangePath)));
    GD_TRY_ASSIGN(Statement scalar,
        process.db().prepare(
            "INSERT INTO launch_scalar(process_id, scalar_set_id, param, offset, bytes, value) "
            "VALUES (?, ?, ?, ?, ?, ?)"));
    for (const auto& [set, words] : process.raw().scalarSets) {
        for (const raw::ScalarWord& word : words)
            GD_TRY(scalar.runWith(
                process.processId(), set, word.param, word.offset, word.bytes, bits(word.value)));
    }
    return {};
}

} // namespace gd::importer
