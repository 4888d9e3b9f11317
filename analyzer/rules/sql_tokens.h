// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gd::rules {

enum class SqlTokenKind : std::uint8_t {
    word, // keyword or plain identifier
    quotedName, // "x", `x` or [x]
    number,
    text, // 'x' or x'00'
    parameter, // :name
    comparison, // = == <> != < <= > >=
    other, // one character of anything else
};

// A piece of SQL. `offset` counts bytes from the start of the scanned text.
struct SqlToken {
    SqlTokenKind kind = SqlTokenKind::other;
    std::size_t offset = 0;
    std::string_view text; // points into the scanned text
};

// Splits SQL into tokens without white space and comments, as SQLite's own tokenizer does for what rules may
// hold. Never fails: an unterminated text or comment reaches to the end.
std::vector<SqlToken> sqlTokens(std::string_view sql);

// Case-insensitive comparison with a keyword given in upper case.
bool isKeyword(const SqlToken& token, std::string_view keyword);

} // namespace gd::rules
