// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <string_view>

namespace gd::importer {

// The words of the schema for the numbers of the record format. Unknown numbers give "other" or "unknown".
std::string_view nodeTypeName(std::uint16_t type); // gd_rt_node_type
std::string_view copyKindName(std::uint16_t kind); // gd_rt_copy_kind
std::string_view memoryKindName(std::uint16_t kind); // gd_rt_memory_kind, empty = unknown
std::string_view captureModeName(std::uint16_t mode); // raw::CaptureMode
std::string_view commKindName(std::uint16_t kind); // gd_rt_comm_kind
std::string_view dtypeName(std::uint16_t dtype); // gd_rt_dtype
std::string_view commSourceName(std::uint16_t source); // raw::CommSource
std::string_view coverageSourceName(std::uint32_t source); // raw::CoverageSource, empty = unknown
std::string_view coverageStateName(std::uint32_t state); // raw::CoverageState
std::string_view recordingLevelName(std::uint32_t level); // raw::RecordingLevel, empty = unknown

// A gd_api_id's class (gd_api_class) and the driver's name, empty for unknown ids.
std::uint32_t apiClass(std::uint16_t api);
std::string_view apiName(std::uint16_t api);

// Fills the dimension tables api and result_code, the same in every trace.
Result<void> writeDimensionTables(Db& db);

} // namespace gd::importer
