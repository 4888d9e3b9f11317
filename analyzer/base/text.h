// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gd::base {

// One character of a text; length 0 = the first byte is not the start of well-formed UTF-8.
struct CodePoint {
    char32_t value;
    std::size_t length;
};

// The first character; the text must not be empty.
CodePoint decodeUtf8(std::string_view text);

// `*` stands for any number of characters ('/' too), `?` for one. The pattern must cover the whole text.
// Takes time of pattern × text at worst, so that patterns from strangers cannot stall a reader.
bool globMatch(std::string_view pattern, std::string_view text);

// Makes text that came from a job harmless on a terminal: control characters (C0 but not tab, DEL, C1),
// direction overrides and bytes that are not UTF-8 become \xNN or \u{NNNN}.
std::string escapeForTerminal(std::string_view text);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

} // namespace gd::base
