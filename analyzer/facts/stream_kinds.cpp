// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/stream_kinds.h"

namespace gd::facts {

Result<StreamKinds> StreamKinds::read(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT stream_id, COALESCE(non_blocking, 0), context_id IS NULL FROM stream WHERE "
                   "process_id = ?"));
    select.bind(1, processId);
    StreamKinds streams;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return streams;
        streams.m_kinds[select.int64(0)] = {select.int64(1) != 0, select.int64(2) != 0};
    }
}

} // namespace gd::facts
