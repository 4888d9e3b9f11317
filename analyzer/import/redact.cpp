// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/redact.h"

#include "analyzer/base/text.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace gd::importer {
namespace {

bool isWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Characters that end a path inside a longer text.
bool endsPath(char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\'' || c == ',' || c == ';' || c == ':'
        || c == '(' || c == ')' || c == '<' || c == '>' || c == '|' || c == '=';
}

// Length of the UTF-8 sequence at `at`, 0 when there is none (RFC 3629: no surrogates, no overlong forms).
std::size_t sequenceLength(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
        return at + i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : 0xbf;
        return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned low = first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
        return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
        [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

std::uint64_t rotated(std::uint64_t value, int by) {
    return (value << by) | (value >> (64 - by));
}

// SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that cannot be turned around without the key.
std::uint64_t keyedHash(const RedactKey& key, std::string_view text) {
    std::array<std::uint64_t, 4> v{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d,
        key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
    const auto round = [&v] {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] = rotated(v[2], 32);
    };
    const auto absorb = [&](std::uint64_t word) {
        v[3] ^= word;
        round();
        round();
        v[0] ^= word;
    };
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
        if (i % 8 == 7) {
            absorb(word);
            word = 0;
        }
    }
    absorb(word | std::uint64_t{text.size() & 0xff} << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; ++i)
        round();
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

constexpr std::array<std::string_view, 11> kSystemFolders{
    "/usr/", "/lib/", "/lib64/", "/opt/", "/bin/", "/sbin/", "/proc/", "/dev/", "/sys/", "/etc/", "/run/"};
// From here on a path is the same on every machine and tells packages apart.
constexpr std::array<std::string_view, 3> kPackageFolders{
    "/site-packages/", "/dist-packages/", "/lib/python"};

} // namespace

RedactKey RedactKey::random() {
    RedactKey key;
    if (::getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key)) {
        // No entropy at all: a clock still differs from job to job.
        key.low = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        key.high = ~key.low;
    }
    return key;
}

std::string validUtf8(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = sequenceLength(text, at);
        if (length == 0) {
            result += "\xef\xbf\xbd";
            ++at;
            continue;
        }
        if (text[at] == '\0')
            result += ' ';
        else
            result.append(text.substr(at, length));
        at += length;
    }
    return result;
}

std::string TextCleaner::token(std::string_view kind, std::string_view text) const {
    return fmt::format("{}-{:08x}", kind, keyedHash(*m_key, text) & 0xffffffff);
}

void TextCleaner::addHost(std::string_view name) {
    if (!m_key || name.size() < 2 || name == "localhost")
        return;
    m_words.emplace(name, token("host", name));
    if (const std::size_t dot = name.find('.'); dot != name.npos && dot >= 2)
        m_words.emplace(name.substr(0, dot), token("host", name));
}

void TextCleaner::addUser(std::string_view name) {
    if (m_key && name.size() >= 2 && name != "root")
        m_words.emplace(name, token("user", name));
}

std::string TextCleaner::clean(std::string_view text) const {
    std::string valid = validUtf8(text);
    return m_key ? redacted(valid) : valid;
}

std::string TextCleaner::redactedPath(std::string_view path) const {
    const bool isSystem = std::any_of(kSystemFolders.begin(), kSystemFolders.end(),
        [path](std::string_view folder) { return path.starts_with(folder); });
    const std::size_t lastSlash = path.rfind('/');
    if (isSystem || lastSlash == 0)
        return std::string(path);
    std::size_t keepFrom = lastSlash;
    for (const std::string_view folder : kPackageFolders) {
        if (const std::size_t at = path.find(folder); at != path.npos)
            keepFrom = std::min(keepFrom, at);
    }
    return token("/path", path.substr(0, keepFrom)).append(path.substr(keepFrom));
}

std::string TextCleaner::redacted(const std::string& text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const char before = at == 0 ? ' ' : text[at - 1];
        if (text[at] == '/' && endsPath(before)) {
            std::size_t end = at;
            while (end < text.size() && !endsPath(text[end]))
                ++end;
            // "//" begins the host of an address, which the words below take care of.
            if (end - at > 1 && text[at + 1] != '/') {
                result += redactedPath(std::string_view(text).substr(at, end - at));
                at = end;
                continue;
            }
        }
        result += text[at++];
    }
    for (const auto& [word, replacement] : m_words) {
        std::size_t at = 0;
        while ((at = result.find(word, at)) != result.npos) {
            const std::size_t end = at + word.size();
            const bool alone = (at == 0 || !isWordCharacter(result[at - 1]))
                && (end == result.size() || !isWordCharacter(result[end]));
            if (alone)
                result.replace(at, word.size(), replacement);
            at += alone ? replacement.size() : word.size();
        }
    }
    return result;
}

bool isSecretName(std::string_view name) {
    const std::string small = lower(name);
    constexpr std::array<std::string_view, 4> kWords{"key", "token", "secret", "password"};
    return std::any_of(kWords.begin(), kWords.end(),
        [&small](std::string_view word) { return small.find(word) != small.npos; });
}

std::string maskSecrets(std::string_view commandLine) {
    std::string_view rest = commandLine;
    while (rest.ends_with('\0'))
        rest.remove_suffix(1);
    const char separator = rest.find('\0') != rest.npos ? '\0' : ' ';
    std::string result;
    bool maskNext = false;
    for (const std::string_view argument : base::split(rest, separator)) {
        std::string shown(argument);
        const std::size_t equals = argument.find('=');
        const bool isOption = argument.starts_with("-");
        if (maskNext && !isOption) {
            shown = kMask;
        } else if (equals != argument.npos && isSecretName(argument.substr(0, equals))) {
            shown = std::string(argument.substr(0, equals + 1)).append(kMask);
        } else if (const std::size_t scheme = argument.find("://"); scheme != argument.npos) {
            const std::size_t from = scheme + 3;
            const std::size_t at = argument.find('@', from);
            const std::size_t colon = argument.find(':', from);
            if (at != argument.npos && colon < at && argument.find('/', from) > at)
                shown.replace(colon + 1, at - colon - 1, kMask);
        }
        maskNext = isOption && equals == argument.npos && isSecretName(argument);
        result.append(result.empty() ? "" : " ").append(shown);
    }
    return result;
}

} // namespace gd::importer
