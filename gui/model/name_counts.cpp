// SPDX-License-Identifier: Apache-2.0
#include "gui/model/name_counts.h"

#include <algorithm>

namespace gd::gui {
namespace {

constexpr std::size_t kPart = 16384; // members
constexpr std::size_t kMostNames = 1024; // of a part
constexpr std::size_t kLeast = 4096; // members: fewer are looked at as fast
constexpr std::uint32_t kMostId = 1U << 22U; // what counting needs grows with it

bool isWanted(const WantedNames& wanted, std::uint32_t name) {
    return name < wanted.size() && wanted[name] != 0;
}

} // namespace

NameCounts::NameCounts(const std::vector<std::uint32_t>& names) {
    if (names.size() < kLeast)
        return;
    const std::uint32_t most = *std::max_element(names.begin(), names.end());
    if (most > kMostId)
        return;
    std::vector<std::uint32_t> counts(most + 1);
    std::vector<std::uint32_t> met;
    for (std::size_t from = 0; from < names.size(); from += kPart) {
        met.clear();
        for (std::size_t i = from; i < std::min(names.size(), from + kPart); ++i) {
            if (counts[names[i]]++ == 0)
                met.push_back(names[i]);
        }
        m_begins.push_back(static_cast<std::uint32_t>(m_counts.size()));
        for (const std::uint32_t name : met) {
            if (met.size() <= kMostNames)
                m_counts.push_back({name, counts[name]});
            counts[name] = 0;
        }
    }
    m_begins.push_back(static_cast<std::uint32_t>(m_counts.size()));
    m_counts.shrink_to_fit();
}

std::size_t NameCounts::countOf(std::size_t part, const WantedNames& wanted) const {
    std::size_t sum = 0;
    for (std::size_t i = m_begins[part]; i < m_begins[part + 1]; ++i)
        sum += isWanted(wanted, m_counts[i].name) ? m_counts[i].count : 0;
    return sum;
}

std::size_t NameCounts::count(const std::vector<std::uint32_t>& names, const WantedNames& wanted,
    std::size_t from, std::size_t to) const {
    std::size_t sum = 0;
    for (std::size_t i = from; i < to;) {
        const std::size_t part = i / kPart;
        const std::size_t end = std::min(to, (part + 1) * kPart);
        if (i == part * kPart && end == std::min(names.size(), (part + 1) * kPart) && isKnown(part)) {
            sum += countOf(part, wanted);
            i = end;
        }
        for (; i < end; ++i)
            sum += isWanted(wanted, names[i]) ? 1 : 0;
    }
    return sum;
}

std::size_t NameCounts::next(const std::vector<std::uint32_t>& names, const WantedNames& wanted,
    std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to;) {
        const std::size_t part = i / kPart;
        const std::size_t end = std::min(to, (part + 1) * kPart);
        if (isKnown(part) && countOf(part, wanted) == 0)
            i = end;
        for (; i < end; ++i) {
            if (isWanted(wanted, names[i]))
                return i;
        }
    }
    return to;
}

std::size_t NameCounts::last(const std::vector<std::uint32_t>& names, const WantedNames& wanted,
    std::size_t from, std::size_t to) const {
    for (std::size_t i = to; i > from;) {
        const std::size_t part = (i - 1) / kPart;
        const std::size_t begin = std::max(from, part * kPart);
        if (isKnown(part) && countOf(part, wanted) == 0)
            i = begin;
        for (; i > begin; --i) {
            if (isWanted(wanted, names[i - 1]))
                return i - 1;
        }
    }
    return to;
}

std::size_t NameCounts::bytes() const {
    return m_begins.capacity() * sizeof(std::uint32_t) + m_counts.capacity() * sizeof(Count);
}

} // namespace gd::gui
