// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gd::importer {

// A key per job: the same name gives the same token within a trace, and says nothing outside of it.
struct RedactKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    static RedactKey random();
};

// Makes every text of a job fit for a trace: valid UTF-8 without NUL, and with a key also without host names,
// user names and path prefixes. A redacted path keeps its file name and what lies behind a Python package
// folder; system folders (/usr, /lib, /opt, …) stay readable.
class TextCleaner {
public:
    explicit TextCleaner(std::optional<RedactKey> key)
        : m_key(key) { }

    bool redacts() const { return m_key.has_value(); }
    // Words that are replaced wherever they stand alone.
    void addHost(std::string_view name);
    void addUser(std::string_view name);
    std::string clean(std::string_view text) const;

private:
    std::string token(std::string_view kind, std::string_view text) const;
    std::string redacted(const std::string& text) const;
    std::string redactedPath(std::string_view path) const;

    std::optional<RedactKey> m_key;
    std::map<std::string, std::string, std::greater<>> m_words; // word -> token; longer of equal prefix first
};

// Bytes that are not UTF-8 become U+FFFD, NUL becomes a space.
std::string validUtf8(std::string_view text);

// True for names such as API_KEY, --auth-token, DB_PASSWORD.
bool isSecretName(std::string_view name);
// Replaces the values of secret arguments (`--token X`, `--token=X`, `TOKEN=X`, user:password@ in addresses).
// Arguments are separated by NUL or, without any, by spaces.
std::string maskSecrets(std::string_view commandLine);
inline constexpr std::string_view kMask = "***";

} // namespace gd::importer
