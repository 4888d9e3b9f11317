// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/import/redact.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gd::importer {

// Table string while it is being built. Texts are cleaned before they are compared.
class StringPool {
public:
    explicit StringPool(TextCleaner& cleaner)
        : m_cleaner(cleaner) { }

    std::int64_t idOf(std::string_view text);
    Result<void> write(Db& db) const;

private:
    TextCleaner& m_cleaner;
    std::unordered_map<std::string, std::int64_t> m_ids; // by cleaned text, numbered from 1
};

// The readable form of a mangled C++ name; other names come back as they are.
std::string demangled(std::string_view name);

} // namespace gd::importer
