// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::report {

// Text from a job may hold anything: each function makes it harmless for one format.

// One line for a terminal or a CI log: control characters, direction overrides and broken UTF-8 become
// visible escapes, and "##[", which starts a command in some CI logs, is broken up.
std::string plainLine(std::string_view text);
// The same for text of rules, where a line break means nothing but a space.
std::string plainProse(std::string_view text);
// XML 1.0 text or attribute value in double quotes.
std::string xml(std::string_view text);
// Running text of GitHub-flavoured Markdown, also inside a table cell: nothing in it is markup, a link, HTML
// or a mention.
std::string markdown(std::string_view text);
// A code span that holds the text, whatever backticks it has; `|` is safe in a table cell too.
std::string markdownCode(std::string_view text);
// Message of a GitHub workflow command, and a property value of one (":" and "," too).
std::string githubData(std::string_view text);
std::string githubProperty(std::string_view text);
// A file as a URI: absolute paths as file:///…, relative ones as a relative reference.
std::string fileUri(std::string_view path);

// FNV-1a, 64 bits: stable across runs, machines and versions.
std::uint64_t stableHash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ULL);

} // namespace gd::report
