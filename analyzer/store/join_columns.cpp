// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/join_columns.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gd::store {
namespace {

using Name = std::pair<std::string_view, std::string_view>;

// Durations, which end in _ns like moments.
constexpr std::array<std::string_view, 2> kDurations{"dur_ns", "wakeup_p99_ns"};

constexpr std::array<Name, 9> kRows{Name{"api_call", "api_call_id"}, Name{"counter", "counter_id"},
    Name{"kernel", "kernel_id"}, Name{"memcpy", "memcpy_id"}, Name{"memset", "memset_id"},
    Name{"nvtx_range", "range_id"}, Name{"replay", "replay_id"}, Name{"sync", "sync_id"},
    Name{"trace_issue", "issue_id"}};

constexpr std::array<std::pair<std::string_view, JoinColumn>, 10> kIds{
    {{"process_id", JoinColumn::process}, {"parent_process_id", JoinColumn::process},
        {"string_id", JoinColumn::string}, {"name_id", JoinColumn::string}, {"domain_id", JoinColumn::string},
        {"stack_id", JoinColumn::stack}, {"shape_id", JoinColumn::shape}, {"track_id", JoinColumn::track},
        {"module_id", JoinColumn::module}, {"first_rowid", JoinColumn::trackRow}}};

} // namespace

JoinColumn joinColumn(std::string_view table, std::string_view column) {
    if (std::find(kRows.begin(), kRows.end(), Name{table, column}) != kRows.end())
        return JoinColumn::row;
    for (const auto& [name, what] : kIds) {
        if (name == column)
            return what;
    }
    if (column == "last_rowid")
        return JoinColumn::trackRow;
    if (column.ends_with("_stack_id"))
        return JoinColumn::stack;
    if (column.ends_with("_ns")
        && std::find(kDurations.begin(), kDurations.end(), column) == kDurations.end())
        return JoinColumn::time;
    return JoinColumn::plain;
}

} // namespace gd::store
