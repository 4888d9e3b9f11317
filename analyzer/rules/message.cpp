// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/message.h"

#include "analyzer/base/counted.h"
#include "analyzer/base/time.h"
#include "analyzer/rules/kernel_name.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace gd::rules {
namespace {

constexpr double kInt64Limit = 9223372036854775808.0; // 2^63

std::int64_t toInt64(double value) {
    if (std::isnan(value))
        return 0;
    if (value >= kInt64Limit)
        return INT64_MAX;
    if (value <= -kInt64Limit)
        return INT64_MIN;
    return static_cast<std::int64_t>(std::llround(value));
}

std::string grouped(std::int64_t value) {
    std::string digits = fmt::format("{}", value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

// {n:count step} is "1 step", "2 steps".
constexpr std::string_view kCount = "count ";

bool isFieldName(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_';
    });
}

} // namespace

std::string plainText(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return fmt::format("{}", *integer);
    if (const auto* real = std::get_if<double>(&value))
        return fmt::format("{:.10g}", *real);
    if (const auto* text = std::get_if<std::string>(&value))
        return *text;
    return "unknown";
}

Result<MessageTemplate> MessageTemplate::parse(std::string_view text) {
    MessageTemplate result;
    std::string literal;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '}' && (i + 1 == text.size() || text[i + 1] != '}'))
            return fail(
                ErrorCode::badInput, "character {}: a '}}' without '{{'; write }}}} for a brace", i + 1);
        if (c != '{' || (i + 1 < text.size() && text[i + 1] == '{')) {
            literal += c;
            if (c == '{' || c == '}')
                ++i;
            continue;
        }
        const std::size_t end = text.find('}', i);
        if (end == std::string_view::npos)
            return fail(
                ErrorCode::badInput, "character {}: a '{{' without '}}'; write {{{{ for a brace", i + 1);
        const std::string_view inside = text.substr(i + 1, end - i - 1);
        const std::size_t colon = inside.find(':');
        Piece piece{std::exchange(literal, {}), std::string(inside.substr(0, colon)), {}, Format::plain, 0};
        if (!isFieldName(piece.name))
            return fail(ErrorCode::badInput,
                "character {}: expected the name of a column or parameter between braces, found \"{}\"",
                i + 1, inside);
        if (colon != std::string_view::npos)
            piece.spec = inside.substr(colon + 1);
        GD_TRY(parseSpec(piece).context("character {}", i + 1));
        result.m_pieces.push_back(std::move(piece));
        i = end;
    }
    if (!literal.empty())
        result.m_pieces.push_back({std::move(literal), {}, {}, Format::plain, 0});
    return result;
}

Result<void> MessageTemplate::parseSpec(Piece& piece) {
    const std::string_view spec = piece.spec;
    const bool hasDecimals = spec.size() == 3 && spec[0] == '.' && spec[1] >= '0' && spec[1] <= '9';
    if (hasDecimals)
        piece.decimals = spec[1] - '0';
    const bool isCount = spec.starts_with(kCount) && spec.size() > kCount.size();
    if (spec.empty() || isCount)
        piece.format = Format::plain;
    else if (hasDecimals && spec[2] == 'f')
        piece.format = Format::fixed;
    else if (spec == "%" || (hasDecimals && spec[2] == '%'))
        piece.format = Format::percent;
    else if (spec == ",")
        piece.format = Format::grouped;
    else if (spec == "ns")
        piece.format = Format::duration;
    else if (spec == "bytes")
        piece.format = Format::bytes;
    else if (spec == "x")
        piece.format = Format::hex;
    else if (spec == "kernel")
        piece.format = Format::kernel;
    else
        return fail(ErrorCode::badInput,
            "unknown format \"{}\"; expected .1f, .1%, %, a comma, ns, bytes, x, kernel or count NOUN", spec);
    return {};
}

Result<std::string> MessageTemplate::renderValue(const Piece& piece, const Value& value) {
    const bool isCount = piece.spec.starts_with(kCount);
    if (std::holds_alternative<std::monostate>(value))
        return plainText(value) + (isCount ? " " + piece.spec.substr(kCount.size()) + "s" : "");
    if (piece.format == Format::plain && !isCount)
        return plainText(value);
    if (piece.format == Format::kernel)
        return shortKernelName(plainText(value));
    if (std::holds_alternative<std::string>(value))
        return fail(ErrorCode::query, "{{{}:{}}} needs a number, but the value is the text \"{}\"",
            piece.name, piece.spec, std::get<std::string>(value));
    const bool isInteger = std::holds_alternative<std::int64_t>(value);
    const std::int64_t integer = isInteger ? std::get<std::int64_t>(value) : toInt64(std::get<double>(value));
    const double real = isInteger ? static_cast<double>(integer) : std::get<double>(value);
    switch (piece.format) {
    case Format::fixed:
        return fmt::format("{:.{}f}", real, piece.decimals);
    case Format::percent:
        return fmt::format("{:.{}f}%", real * 100, piece.decimals);
    case Format::grouped:
        return grouped(integer);
    case Format::duration:
        return base::formatDuration(integer);
    case Format::bytes:
        return base::formatBytes(integer);
    case Format::hex:
        return fmt::format("{:#x}", static_cast<std::uint64_t>(integer));
    case Format::plain:
        return base::counted(integer, std::string_view(piece.spec).substr(kCount.size()));
    case Format::kernel:
        break;
    }
    return plainText(value);
}

Result<std::string> MessageTemplate::render(const Lookup& lookup) const {
    std::string out;
    for (const Piece& piece : m_pieces) {
        out += piece.literal;
        if (piece.name.empty())
            continue;
        const Value* value = lookup(piece.name);
        if (value == nullptr)
            return fail(
                ErrorCode::query, "{{{}}} is neither a column of the query nor a parameter", piece.name);
        GD_TRY_ASSIGN(const std::string text, renderValue(piece, *value));
        out += text;
    }
    return out;
}

std::vector<std::string> MessageTemplate::names() const {
    std::vector<std::string> result;
    for (const Piece& piece : m_pieces) {
        if (!piece.name.empty() && std::find(result.begin(), result.end(), piece.name) == result.end())
            result.push_back(piece.name);
    }
    return result;
}

} // namespace gd::rules
