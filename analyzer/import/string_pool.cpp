// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/string_pool.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace gd::importer {

std::int64_t StringPool::idOf(std::string_view text) {
    const auto next = static_cast<std::int64_t>(m_ids.size()) + 1;
    return m_ids.emplace(m_cleaner.clean(text), next).first->second;
}

Result<void> StringPool::write(Db& db) const {
    std::vector<const std::string*> texts(m_ids.size());
    for (const auto& [text, id] : m_ids)
        texts[static_cast<std::size_t>(id - 1)] = &text;
    GD_TRY_ASSIGN(Statement insert, db.prepare("INSERT INTO string(string_id, text) VALUES (?, ?)"));
    for (std::size_t i = 0; i < texts.size(); ++i)
        GD_TRY(insert.runWith(static_cast<std::int64_t>(i) + 1, *texts[i]));
    return {};
}

std::string demangled(std::string_view name) {
    std::string text(name);
    if (!name.starts_with("_Z"))
        return text;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> readable(
        abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && readable ? std::string(readable.get()) : text;
}

} // namespace gd::importer
