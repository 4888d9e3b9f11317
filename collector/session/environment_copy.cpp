// SPDX-License-Identifier: Apache-2.0
#include "collector/session/environment_copy.h"

#include "collector/session/mapped_array.h"

#include <cstring>
#include <unistd.h>

namespace gd::session {

void EnvironmentCopy::take() noexcept {
    std::size_t bytes = 0;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        bytes += std::strlen(*entry) + 1;
    }
    auto* text = bytes != 0 ? static_cast<char*>(mapMemory(bytes)) : nullptr;
    if (text == nullptr) {
        return;
    }
    std::size_t used = 0;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::size_t length = std::strlen(*entry) + 1;
        if (length > bytes - used) {
            break; // it has grown meanwhile
        }
        std::memcpy(text + used, *entry, length);
        used += length;
    }
    m_text = {text, used};
}

const char* EnvironmentCopy::variable(std::string_view name) const noexcept {
    const char* value = nullptr;
    forEach([&](std::string_view entry) noexcept {
        if (value == nullptr && entry.size() > name.size() && entry[name.size()] == '='
            && entry.substr(0, name.size()) == name) {
            value = entry.data() + name.size() + 1;
        }
    });
    return value;
}

} // namespace gd::session
