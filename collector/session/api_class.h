// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_api_ids.h"

#include <cstdint>

namespace gd::session {

/// The class of a followed call, GD_API_CLASS_OTHER for unknown numbers.
inline gd_api_class apiClass(std::uint32_t api) noexcept {
    static constexpr std::uint32_t kCalls = 256;
    struct Table {
        std::uint8_t classes[kCalls] = {};
        constexpr Table() {
#define GD_CLASS_OF(number, name, driver, runtime, klass) classes[number] = GD_API_CLASS_##klass;
            GD_API_CALLS(GD_CLASS_OF)
#undef GD_CLASS_OF
        }
    };
    static constexpr Table kTable;
    return api < kCalls ? static_cast<gd_api_class>(kTable.classes[api]) : GD_API_CLASS_OTHER;
}

} // namespace gd::session
