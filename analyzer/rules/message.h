// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// A rule's message: text with {name} and {name:format}; {{ and }} stand for braces. NULL prints as "unknown".
//
//     {n}          integers and texts as they are, reals as short as they can be
//     {n:.1f}      that many decimals (0 to 9)
//     {n:,}        integer with thousands separators
//     {n:.1%}      share of 1 as a percentage; {n:%} without decimals
//     {n:ns}       nanoseconds as "16.3 us"
//     {n:bytes}    bytes as "4.00 MiB"
//     {n:x}        address as "0x7f00"
class MessageTemplate {
public:
    // Errors name the position in the text, counted from 1.
    static Result<MessageTemplate> parse(std::string_view text);

    using Lookup = std::function<const Value*(std::string_view name)>; // nullptr = no such name
    // Fails when a name is unknown or a format needs a number and the value is a text.
    Result<std::string> render(const Lookup& lookup) const;

    std::vector<std::string> names() const; // each once, in order of appearance

private:
    enum class Format { plain, fixed, grouped, percent, duration, bytes, hex, kernel };
    struct Piece {
        std::string literal; // text before the placeholder
        std::string name; // empty: the piece is text only
        std::string spec;
        Format format = Format::plain;
        int decimals = 0;
    };
    static Result<void> parseSpec(Piece& piece);
    static Result<std::string> renderValue(const Piece& piece, const Value& value);

    std::vector<Piece> m_pieces;
};

// A value as a message prints it without a format.
std::string plainText(const Value& value);

} // namespace gd::rules
