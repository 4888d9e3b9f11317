// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/scalar_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace gd::facts {
namespace {

constexpr std::size_t kShownValues = 5;

std::int64_t asInteger(std::uint64_t value, std::int64_t bytes) {
    const int unused = 64 - 8 * static_cast<int>(bytes);
    return static_cast<std::int64_t>(value << unused) >> unused;
}

double asReal(std::uint64_t value, std::int64_t bytes) {
    return bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(value))
                      : std::bit_cast<double>(value);
}

// Numbers that programs use: neither minute nor astronomic.
bool isPlainReal(double value) {
    return value == 0 || (std::isfinite(value) && std::abs(value) > 1e-20 && std::abs(value) < 1e20);
}

// Small integers are denormal as reals, and everyday reals are huge as integers.
bool areReals(const std::vector<std::uint64_t>& values, std::int64_t bytes) {
    if (bytes != 4 && bytes != 8)
        return false;
    const bool plain = std::all_of(values.begin(), values.end(),
        [bytes](std::uint64_t value) { return isPlainReal(asReal(value, bytes)); });
    const bool allZero
        = std::all_of(values.begin(), values.end(), [](std::uint64_t value) { return value == 0; });
    return plain && !allZero;
}

// Addresses that belong to no allocation we know: host memory, or mapped by another process.
bool areAddresses(const std::vector<std::uint64_t>& values) {
    return std::all_of(values.begin(), values.end(), [](std::uint64_t value) {
        return value % 16 == 0 && value >= (std::uint64_t{1} << 32) && value < (std::uint64_t{1} << 48);
    });
}

// Steps from one value to the next as a program makes them: all up or all down; those of a counter are
// multiples of one step, those of a measure grow or shrink smoothly (a cosine, a loss scale that doubles).
class Steps {
public:
    Steps(const std::vector<double>& values, bool real)
        : m_real(real) {
        for (std::size_t i = 1; i < values.size(); ++i) {
            const double step = values[i] - values[i - 1];
            m_least = i == 1 || std::abs(step) < std::abs(m_least) ? step : m_least;
            m_regular = m_regular && (i == 1 || goOn(step));
            m_ratio = i == 1 ? 0 : step / m_last;
            m_last = step;
        }
        for (std::size_t i = 1; i < values.size() && !real; ++i)
            m_regular = m_regular && isMultiple(values[i] - values[i - 1]);
        m_regular = m_regular && m_least != 0;
    }
    bool areRegular() const { return m_regular; }
    // Whether `step` may follow the last one.
    bool follows(double step) const {
        if (!m_real && std::abs(m_least) == 1) // a counter, some of whose steps were not seen
            return step / m_least >= 1;
        return m_regular && goOn(step) && (m_real || isMultiple(step));
    }

private:
    static constexpr double kMostGrowth = 4; // of a step: a cosine's begin as 1, 3, 5, 7
    static constexpr double kMostChange = 2; // of that growth

    static bool within(double ratio, double most) { return ratio >= 1 / most && ratio <= most; }
    bool goOn(double step) const {
        const double ratio = step / m_last;
        return within(ratio, kMostGrowth)
            && (!m_real || m_ratio == 0 || within(ratio / m_ratio, kMostChange));
    }
    bool isMultiple(double step) const { return std::fmod(step, m_least) == 0; }

    bool m_real;
    bool m_regular = true;
    double m_last = 0;
    double m_ratio = 0; // of the last step to the one before it; 0: there was none
    double m_least = 0;
};

// The values and the graph's are one row, whether the graph was captured after the eager runs, before them or
// beside one. What lay on the stack may rise by chance, and even in equal steps when a library counts calls
// there, but then seldom goes on so to the capture.
bool isOneRow(std::vector<double> values, double frozen, bool real) {
    // Several runs of a step pass the same.
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const Steps onward(values, real);
    if (!onward.areRegular())
        return false;
    if (std::find(values.begin(), values.end(), frozen) != values.end())
        return true;
    const std::vector<double> reversed(values.rbegin(), values.rend());
    // Before a measure's first value lies, if anything, where it starts: 0.
    return onward.follows(frozen - values.back())
        || ((!real || frozen == 0) && Steps(reversed, real).follows(frozen - values.front()));
}

bool hasSettled(const std::vector<std::uint64_t>& values) {
    constexpr std::size_t kSettledRuns = 3;
    return values.size() >= kSettledRuns
        && std::all_of(values.end() - kSettledRuns, values.end(),
            [&](std::uint64_t value) { return value == values.back(); });
}

// Padding inside structures that are passed by value holds what lay on the stack. Numbers that programs pass
// are plain reals, small integers, or integers that go on in equal steps.
bool areNumbers(const std::vector<std::int64_t>& integers, bool real) {
    constexpr std::int64_t kSmall = 10'000'000;
    constexpr std::int64_t kLarge = std::int64_t{1} << 40;
    const auto below = [&](std::int64_t limit) {
        return std::all_of(integers.begin(), integers.end(),
            [limit](std::int64_t value) { return value > -limit && value < limit; });
    };
    if (real || below(kSmall))
        return true;
    if (!below(kLarge))
        return false;
    for (std::size_t i = 2; i < integers.size(); ++i) {
        if (integers[i] - integers[i - 1] != integers[1] - integers[0])
            return false;
    }
    return true;
}

// A value that a program went on to pass lies among those before it or not far behind them. What lay on the
// stack when a graph was captured has nothing to do with what lay there in eager runs.
bool goesOn(const std::vector<double>& values, double frozen) {
    constexpr double kRanges = 16;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double reach = kRanges * (*high - *low);
    return frozen >= *low - reach && frozen <= *high + reach;
}

std::string textOf(std::uint64_t value, std::int64_t bytes, bool real) {
    return real ? fmt::format("{:.6g}", asReal(value, bytes)) : std::to_string(asInteger(value, bytes));
}

// A word of 8 bytes may hold two values of 4: takes out the half that changes.
void narrow(Series& series, std::vector<std::uint64_t>& values) {
    std::uint64_t changed = 0;
    for (const std::uint64_t value : values)
        changed |= value ^ values.front();
    constexpr std::uint64_t kLow = 0xffff'ffff;
    const bool high = (changed & kLow) == 0;
    const bool low = changed >> 32 == 0; // a real of 8 bytes never varies in its last digits alone
    const bool isRoundReal = high && (values.front() & kLow) == 0 && areReals(values, 8);
    if (series.bytes != 8 || (!high && !low) || isRoundReal)
        return;
    const auto part = [&](std::uint64_t value) { return high ? value >> 32 : value & kLow; };
    series.offset = high ? 4 : 0;
    series.bytes = 4;
    series.frozenValue = part(series.frozenValue);
    for (std::uint64_t& value : values)
        value = part(value);
}

} // namespace

std::optional<Series> changingSeries(const Word& frozen, const std::vector<std::uint64_t>& eager) {
    if (frozen.bytes < 1 || frozen.bytes > 8) // a damaged trace
        return std::nullopt;
    if (frozen.bytes == 1) // an empty function object has a byte of its own, which nobody sets
        return std::nullopt;
    std::vector<std::uint64_t> values = eager;
    const std::set<std::uint64_t> different(values.begin(), values.end());
    if (different.size() < 2 || hasSettled(values) || (frozen.bytes == 8 && areAddresses(values)))
        return std::nullopt;
    Series series;
    series.bytes = frozen.bytes;
    series.frozenValue = frozen.value;
    series.distinct = different.size();
    narrow(series, values);
    const bool real = areReals(values, series.bytes);
    const auto asNumber = [&](std::uint64_t value) {
        return real ? asReal(value, series.bytes) : static_cast<double>(asInteger(value, series.bytes));
    };
    std::vector<double> numbers;
    std::vector<std::int64_t> integers;
    for (const std::uint64_t value : values) {
        integers.push_back(asInteger(value, series.bytes));
        numbers.push_back(asNumber(value));
    }
    const double frozenNumber = asNumber(series.frozenValue);
    if (!areNumbers(integers, real) || (real && !isPlainReal(frozenNumber)) || !goesOn(numbers, frozenNumber))
        return std::nullopt;
    series.isMonotone
        = std::is_sorted(numbers.begin(), numbers.end()) || std::is_sorted(numbers.rbegin(), numbers.rend());
    series.hasTrend = series.isMonotone && isOneRow(numbers, frozenNumber, real);
    series.frozenText = textOf(series.frozenValue, series.bytes, real);
    // The last ones lead up to the capture.
    const std::size_t first = values.size() > kShownValues ? values.size() - kShownValues : 0;
    series.text = first > 0 ? "… " : "";
    for (std::size_t i = first; i < values.size(); ++i)
        series.text += (i > first ? ", " : "") + textOf(values[i], series.bytes, real);
    return series;
}

} // namespace gd::facts
