// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/category.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace gd::gui {

// Texts of events, each with its category, by id. One thread adds; others may read an id once it was handed
// to them through a queued call (entries never move).
class NameTable {
public:
    struct Entry {
        std::string text; // as the trace holds it
        Category category = Category::host;
    };

    // The id of the text in this category, added when it is new. Past 16 M names every new one is "…".
    std::uint32_t intern(const std::string& text, Category category);
    const Entry& operator[](std::uint32_t id) const { return m_chunks[id / kChunk][id % kChunk]; }
    std::size_t size() const { return m_size; } // only for the adding thread

private:
    static constexpr std::size_t kChunk = 4096;
    std::array<std::unique_ptr<Entry[]>, 4096> m_chunks;
    std::array<std::unordered_map<std::string, std::uint32_t>, kCategories> m_ids;
    std::size_t m_size = 0;
};

} // namespace gd::gui
