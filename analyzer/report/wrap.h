// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gd::report {

// Columns of a terminal that a clean text takes (wide characters count 2, combining ones 0).
std::size_t columns(std::string_view text);

// Appends the text, one paragraph, to `out`: lines of at most `width` columns, the first with `first` and the
// others with `rest` spaces in front; `out` may already hold the start of the first line, of `used` columns.
// A word that does not fit a line alone is cut. No line begins with "::", which starts a command in some CI
// logs.
void appendWrapped(
    std::string& out, std::string_view text, std::size_t used, std::size_t indent, std::size_t width = 80);

// The text with spaces behind it up to `width` columns.
std::string padded(std::string_view text, std::size_t width);

} // namespace gd::report
