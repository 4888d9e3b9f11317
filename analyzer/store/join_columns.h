// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::store {

// What has to happen to a column of a raw table when traces are joined.
enum class JoinColumn : std::uint8_t {
    plain, // stays: ids inside a process, amounts, durations, text
    time, // a moment: moves with the trace's start
    process, // process_id
    string, // string_id
    stack, // stack_id
    shape, // shape_id of kernels
    track, // track_id
    module, // module_id
    row, // number of a row of its own table: tracks hold ranges of them
    trackRow, // track.first_rowid and last_rowid: rows of the table that the track names
};
JoinColumn joinColumn(std::string_view table, std::string_view column);

} // namespace gd::store
