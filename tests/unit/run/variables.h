// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gd::test {

// An environment that a test makes up.
struct Variables {
    std::map<std::string, std::string, std::less<>> values;
    std::optional<std::string> operator()(std::string_view name) const {
        const auto it = values.find(name);
        return it == values.end() ? std::nullopt : std::optional(it->second);
    }
};

} // namespace gd::test
