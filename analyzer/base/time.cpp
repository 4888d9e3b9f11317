// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/time.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace gd::base {
namespace {

struct Unit {
    std::string_view suffix;
    double factor;
};

constexpr std::array kTimeUnits{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9},
    Unit{"min", 60e9}, Unit{"m", 60e9}, Unit{"h", 3600e9}};
constexpr std::array kByteUnits{Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"KB", 1e3}, Unit{"MB", 1e6},
    Unit{"GB", 1e9}, Unit{"TB", 1e12}, Unit{"KiB", 1024.0}, Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0},
    Unit{"TiB", 1099511627776.0}};

Result<std::int64_t> parseQuantity(
    std::string_view text, std::span<const Unit> units, std::string_view expected) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, errc] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    if (errc == std::errc() && number >= 0) {
        for (const Unit& unit : units) {
            if (suffix != unit.suffix)
                continue;
            const double value = std::round(number * unit.factor);
            // 2^63 is exactly representable; every double below it fits.
            if (value < 9223372036854775808.0)
                return static_cast<std::int64_t>(value);
        }
    }
    return fail(ErrorCode::usage, "\"{}\" is not {}", text, expected);
}

// Three significant digits: 2.05, 16.3, 412.
std::string threeDigits(double value) {
    if (value < 9.995)
        return fmt::format("{:.2f}", value);
    if (value < 99.95)
        return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

} // namespace

Result<std::int64_t> parseDuration(std::string_view text) {
    return parseQuantity(text, kTimeUnits, "a duration such as 500ms, 1.5s or 2min");
}

Result<std::int64_t> parseBytes(std::string_view text) {
    return parseQuantity(text, kByteUnits, "a size such as 256MB, 4GB or 64KiB");
}

std::string formatDuration(std::int64_t ns) {
    if (ns < 0)
        return ns == INT64_MIN ? std::string("-292 years") : "-" + formatDuration(-ns);
    if (ns < 1000)
        return fmt::format("{} ns", ns);
    const auto value = static_cast<double>(ns);
    if (value < 999.5e3)
        return threeDigits(value / 1e3) + " us";
    if (value < 999.5e6)
        return threeDigits(value / 1e6) + " ms";
    if (value < 59.95e9)
        return threeDigits(value / 1e9) + " s";
    const std::int64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000 ? 1 : 0);
    if (seconds < 3600)
        return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
}

std::string formatBytes(std::int64_t bytes) {
    constexpr std::array<std::string_view, 5> kNames{"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 0)
        return bytes == INT64_MIN ? std::string("-8192 PiB") : "-" + formatBytes(-bytes);
    if (bytes < 1024)
        return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < kNames.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", threeDigits(value), kNames[unit]);
}

} // namespace gd::base
