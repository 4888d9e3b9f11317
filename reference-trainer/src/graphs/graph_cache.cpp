// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_cache.h"

#include <algorithm>
#include <utility>

namespace gdt::graphs {

GraphEntry& GraphCache::find(const GraphKey& key) {
    GraphEntry& entry = m_entries[key];
    entry.key = key;
    return entry;
}

std::size_t GraphCache::graphs() const {
    return static_cast<std::size_t>(std::count_if(
        m_entries.begin(), m_entries.end(), [](const auto& item) { return item.second.exec.valid(); }));
}

GraphEntry* GraphCache::victim() {
    if (m_policy == CachePolicy::Fallback) {
        return nullptr;
    }
    const auto rank = [&](const GraphEntry& entry) {
        return std::pair(m_policy == CachePolicy::Lfu ? entry.uses : 0, entry.lastUse);
    };
    GraphEntry* least = nullptr;
    for (auto& [key, entry] : m_entries) {
        const bool candidate = entry.exec.valid() && key.scope != Scope::Optimizer;
        if (candidate && (least == nullptr || rank(entry) < rank(*least))) {
            least = &entry;
        }
    }
    return least;
}

} // namespace gdt::graphs
