// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/export/events.h"

#include <memory>

namespace gd::report {

// Text as a JSON string with its quotes: control characters escaped, bytes that are not UTF-8 replaced.
void appendJsonText(std::string& out, std::string_view text);

// The trace event format of Chrome, as PyTorch's profiler writes it and Perfetto reads it.
std::unique_ptr<EventSink> makeChromeSink(EventOutput output);
// A header and one line an event, RFC 4180.
std::unique_ptr<EventSink> makeCsvSink(EventOutput output);

} // namespace gd::report
