// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gdt::runtime {

/// Names what the calling thread does, for a tool that listens; nothing happens without one. Ranges nest per
/// thread.
void rangePush(const char* name, std::uint64_t payload = 0, const char* domain = nullptr);
void rangePop(const char* domain = nullptr);
void rangeMark(const char* name, std::uint64_t payload = 0, const char* domain = nullptr);

/// A range that ends with its scope.
class Range {
public:
    explicit Range(const char* name, std::uint64_t payload = 0, const char* domain = nullptr)
        : m_domain(domain) {
        rangePush(name, payload, domain);
    }
    ~Range() { rangePop(m_domain); }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    const char* m_domain;
};

} // namespace gdt::runtime
