// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/writer.h"

#include <utility>

namespace gd::report {
namespace {

constexpr std::pair<Format, std::string_view> kNames[]
    = {{Format::text, "text"}, {Format::json, "json"}, {Format::markdown, "markdown"}, {Format::html, "html"},
        {Format::sarif, "sarif"}, {Format::junit, "junit"}, {Format::github, "github"}};

} // namespace

std::string_view name(Format format) {
    for (const auto& [value, word] : kNames) {
        if (value == format)
            return word;
    }
    return {};
}

std::optional<Format> formatFrom(std::string_view word) {
    for (const auto& [value, known] : kNames) {
        if (known == word)
            return value;
    }
    return std::nullopt;
}

std::string write(Format format, const Report& report, const WriteOptions& options) {
    switch (format) {
    case Format::text:
        return writeText(report, options);
    case Format::json:
        return writeJson(report);
    case Format::markdown:
        return writeMarkdown(report);
    case Format::html:
        return writeHtml(report);
    case Format::sarif:
        return writeSarif(report);
    case Format::junit:
        return writeJunit(report, options);
    case Format::github:
        break;
    }
    return writeGithub(report);
}

} // namespace gd::report
