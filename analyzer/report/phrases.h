// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace gd::report {

// The words in which text, Markdown, JUnit and GitHub reports say the same things. Nothing here is escaped:
// the results may hold text of the job.

// A job that cleans its environment looks like one without CUDA.
inline constexpr std::string_view kNothingRecorded
    = "the command used neither CUDA nor another runtime that GraphDoctor knows, or ran without the "
      "variables "
      "of graphdoctor run (env -i, sudo, a container, another host; graphdoctor run --print-env lists them)";

// "12.3 us", "4.00 MiB", "82.0 %", "17"; other units follow the number.
std::string valueText(const rules::Value& value, std::string_view unit);
std::string valueText(const VitalSign& sign, const VitalValue& value); // "–" when not measured
std::string vitalGroup(std::string_view name); // "replay_gap.p99_ns" -> "Replay gaps"
std::string vitalLabel(std::string_view name); // -> "p99"

std::string cleanPath(const std::string& path); // without "/../": tools compare paths by their letters
std::string placeFile(const rules::Location& location); // the file, else the module, else "unknown file"
std::string placeText(const rules::Location& location); // "train.py:133 in step"
std::string whereText(const rules::Finding& finding); // "ranks 0, 1 · thread 3"
std::string whenText(const rules::Finding& finding); // "step 7, 1.20 s after start, for 3.00 ms"
std::string costText(const Report& report, const rules::Finding& finding); // "3.00 ms (1.2 % of the run)"
std::string headline(const rules::Finding& finding); // "GD101 error, high confidence: <title>"
std::string outcomeText(const rules::RuleOutcome& outcome); // "fired 2", "clean", "not evaluated"

std::string endText(const Report& report); // "ended with status 0", "killed by signal 9"
std::string runText(const Report& report); // "12.3 s, ended with status 0, 2 processes on n1"
std::string issueText(const Report& report, const Issue& issue); // "lost data: … (rank 0 (pid 7)) [3 times]"
std::string rowText(const rules::Evidence& evidence); // "api_call 12", empty without a row
std::string stepsText(const Report& report); // "200 steps, from ranges with a known name"
std::string overheadText(const Report& report);
std::string filterText(const Report& report); // empty without a filter
std::string countText(const Report& report); // "1 error, 2 warnings"
std::string processText(const Report& report, std::int64_t processId); // "rank 0 (pid 4711)"
std::string plural(std::int64_t count, std::string_view noun); // "1 step", "2 steps"

} // namespace gd::report
