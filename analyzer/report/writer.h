// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gd::report {

enum class Format : std::uint8_t { text, json, markdown, html, sarif, junit, github };

std::string_view name(Format format);
std::optional<Format> formatFrom(std::string_view word);
inline constexpr std::string_view kFormatNames = "text, json, markdown, html, sarif, junit, github";

struct WriteOptions {
    bool color = false; // text only: ANSI colours besides the words that say the same
    // junit: findings at or above it are failures, others are output of a passing test; nullopt = none is.
    std::optional<rules::Severity> failOn = rules::Severity::error;
};

// The report in one format, ending with a line break. Pure: equal reports give equal bytes, no clock, no
// environment. Text from the job is escaped for the format.
std::string write(Format format, const Report& report, const WriteOptions& options);

std::string writeText(const Report& report, const WriteOptions& options); // 80 columns, for people
std::string writeJson(const Report& report); // graphdoctor.report/1, docs/report.schema.json
std::string writeMarkdown(const Report& report); // GitHub-flavoured
std::string writeHtml(const Report& report); // one file that asks for no other
std::string writeSarif(const Report& report); // SARIF 2.1.0
std::string writeJunit(const Report& report, const WriteOptions& options); // one test case a rule
std::string writeGithub(const Report& report); // workflow commands: one annotation a finding

} // namespace gd::report
