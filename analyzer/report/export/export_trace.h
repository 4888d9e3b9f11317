// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/report/export/events.h"
#include "analyzer/report/model.h"

#include <optional>
#include <utility>

namespace gd::report {

// `chrome` and `perfetto` are the same JSON: the trace event format, with the names of categories and
// arguments that PyTorch's profiler uses. `csv` has one line an event.
enum class ExportFormat : std::uint8_t { chrome, perfetto, csv };
std::optional<ExportFormat> exportFormatFrom(std::string_view word);

struct ExportOptions {
    ExportFormat format = ExportFormat::chrome;
    // Only processes of this rank, and only what touches the steps (on the host or the device). A rank or
    // step that the trace does not have is a usage error.
    Filter filter;
};

struct ExportSummary {
    std::int64_t events = 0;
    std::int64_t processes = 0;
};

// Writes the events of a trace that holds facts. `findings` become slices of their own. Memory grows with the
// calls that have a correlation and with the nodes of graphs, never with the kernels.
Result<ExportSummary> exportTrace(Db& trace, const std::string& path,
    std::span<const rules::Finding> findings, const ExportOptions& options, const EventOutput& output);

} // namespace gd::report
