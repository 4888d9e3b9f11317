// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace gd::test {

// `text` as part of the name of a test, which takes letters, digits and single underscores:
// "--tp 2 --zero1" becomes "tp_2_zero1". "default" for a text that has none of them.
inline std::string testName(std::string_view text) {
    std::string name;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            name += c;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    while (!name.empty() && name.back() == '_')
        name.pop_back();
    return name.empty() ? "default" : name;
}

} // namespace gd::test
