// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/wrap.h"

#include "analyzer/base/text.h"

#include <algorithm>

namespace gd::report {
namespace {

// Blocks that terminals draw two columns wide (East Asian Width W and F of Unicode 15, emoji), coarsely.
bool isWide(char32_t c) {
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3)
        || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60)
        || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

bool isCombining(char32_t c) {
    return (c >= 0x0300 && c <= 0x036f) || (c >= 0x200b && c <= 0x200d) || (c >= 0xfe00 && c <= 0xfe0f)
        || c == 0xfeff;
}

std::size_t widthOf(char32_t c) {
    return isCombining(c) ? 0 : isWide(c) ? 2 : 1;
}

// The longest front part of at most `width` columns; at least one character.
std::string_view frontPart(std::string_view word, std::size_t width) {
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < word.size()) {
        const base::CodePoint c = base::decodeUtf8(word.substr(at));
        used += widthOf(c.value);
        if (used > width && at > 0)
            break;
        at += std::max<std::size_t>(c.length, 1);
    }
    return word.substr(0, at);
}

} // namespace

std::size_t columns(std::string_view text) {
    std::size_t total = 0;
    while (!text.empty()) {
        const base::CodePoint c = base::decodeUtf8(text);
        total += widthOf(c.value);
        text.remove_prefix(std::max<std::size_t>(c.length, 1));
    }
    return total;
}

void appendWrapped(
    std::string& out, std::string_view text, std::size_t used, std::size_t indent, std::size_t width) {
    std::size_t column = used;
    bool lineIsEmpty = true; // no word of this paragraph on the line yet
    const bool blankStart = used == indent;
    bool firstLine = true;
    const auto newLine = [&] {
        out += '\n';
        out.append(indent, ' ');
        column = indent;
        lineIsEmpty = true;
        firstLine = false;
    };
    for (std::string_view word : base::split(text, ' ')) {
        if (word.empty())
            continue;
        if (!lineIsEmpty && column + 1 + columns(word) > width)
            newLine();
        if (!lineIsEmpty) {
            out += ' ';
            ++column;
        }
        while (true) {
            if (lineIsEmpty && (!firstLine || blankStart) && word.starts_with("::")) {
                out += "\\x3a:";
                column += 5;
                word.remove_prefix(2);
            }
            const std::size_t room = width > column ? width - column : 1;
            if (columns(word) <= room)
                break;
            const std::string_view part = frontPart(word, room);
            out += part;
            word.remove_prefix(part.size());
            newLine();
        }
        out += word;
        column += columns(word);
        lineIsEmpty = false;
    }
    out += '\n';
}

std::string padded(std::string_view text, std::size_t width) {
    std::string out(text);
    const std::size_t used = columns(text);
    out.append(used < width ? width - used : 0, ' ');
    return out;
}

} // namespace gd::report
