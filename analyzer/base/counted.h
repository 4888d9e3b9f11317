// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::base {

// "1 step", "2 steps", "2 processes", "2 launches": nouns with a regular plural.
inline std::string counted(std::int64_t count, std::string_view noun) {
    const bool hisses = noun.ends_with("s") || noun.ends_with("ch") || noun.ends_with("sh");
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : hisses ? "es" : "s");
}

} // namespace gd::base
