// SPDX-License-Identifier: Apache-2.0
#include "collector/nvtx/name_table.h"

#include "collector/session/spin_lock.h"

#include <cstdlib>
#include <cstring>

namespace gd::nvtx {

namespace {

std::size_t bucketOf(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const char letter : text) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return static_cast<std::size_t>(hash ^ hash >> 32);
}

} // namespace

const Name* NameTable::intern(std::string_view text) noexcept {
    const session::SpinGuard guard(m_lock);
    Name*& bucket = m_buckets[bucketOf(text) % kBuckets];
    for (Name* name = bucket; name != nullptr; name = name->next) {
        if (std::string_view(name->text, name->length) == text) {
            return name;
        }
    }
    auto* name = static_cast<Name*>(std::malloc(sizeof(Name) + text.size()));
    if (name == nullptr) {
        return nullptr;
    }
    name->next = bucket;
    name->number = ++m_count;
    name->length = text.size();
    std::memcpy(name->text, text.data(), text.size());
    name->text[text.size()] = '\0';
    bucket = name;
    return name;
}

std::string_view narrow(const wchar_t* text, char* out, std::size_t bytes) noexcept {
    std::size_t at = 0;
    for (; text != nullptr && *text != L'\0'; ++text) {
        const auto code = static_cast<std::uint32_t>(*text);
        char unit[4];
        std::size_t length = 1;
        if (code < 0x80) {
            unit[0] = static_cast<char>(code);
        } else if (code < 0x800) {
            length = 2;
            unit[0] = static_cast<char>(0xc0 | code >> 6);
        } else if (code < 0x10000) {
            length = 3;
            unit[0] = static_cast<char>(0xe0 | code >> 12);
        } else {
            length = 4;
            unit[0] = static_cast<char>(0xf0 | (code >> 18 & 7));
        }
        for (std::size_t i = 1; i < length; ++i) {
            unit[i] = static_cast<char>(0x80 | (code >> (6 * (length - 1 - i)) & 0x3f));
        }
        if (at + length > bytes) {
            break;
        }
        std::memcpy(out + at, unit, length);
        at += length;
    }
    return {out, at};
}

} // namespace gd::nvtx
