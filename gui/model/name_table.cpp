// SPDX-License-Identifier: Apache-2.0
#include "gui/model/name_table.h"

namespace gd::gui {

std::uint32_t NameTable::intern(const std::string& text, Category category) {
    auto& ids = m_ids[static_cast<std::size_t>(category)];
    if (const auto known = ids.find(text); known != ids.end())
        return known->second;
    const bool full = m_size == m_chunks.size() * kChunk;
    const auto id = static_cast<std::uint32_t>(full ? m_size - 1 : m_size);
    if (!full) {
        auto& chunk = m_chunks[m_size / kChunk];
        if (!chunk)
            chunk = std::make_unique<Entry[]>(kChunk);
        const bool last = m_size + 1 == m_chunks.size() * kChunk;
        chunk[m_size % kChunk] = {last ? std::string("…") : text, category};
        ++m_size;
        ids.emplace(text, id);
    }
    return id;
}

} // namespace gd::gui
