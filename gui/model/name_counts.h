// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gd::gui {

// One byte a name id, not 0: wanted. Ids beyond its end are not.
using WantedNames = std::vector<std::uint8_t>;

// How often each name occurs in a list of them, part by part: to count or find some names, most parts need
// no look at their members. At most half a byte a member; none for short lists and for parts of too many
// names, whose members are looked at. Ranges are of indices, [from, to).
class NameCounts {
public:
    explicit NameCounts(const std::vector<std::uint32_t>& names = {});

    // `names`: those it was made of, below too.
    std::size_t count(const std::vector<std::uint32_t>& names, const WantedNames& wanted, std::size_t from,
        std::size_t to) const;
    // First and last index with a wanted name; `to`: none.
    std::size_t next(const std::vector<std::uint32_t>& names, const WantedNames& wanted, std::size_t from,
        std::size_t to) const;
    std::size_t last(const std::vector<std::uint32_t>& names, const WantedNames& wanted, std::size_t from,
        std::size_t to) const;
    std::size_t bytes() const;

private:
    struct Count {
        std::uint32_t name = 0;
        std::uint32_t count = 0;
    };
    bool isKnown(std::size_t part) const {
        return part + 1 < m_begins.size() && m_begins[part] != m_begins[part + 1];
    }
    std::size_t countOf(std::size_t part, const WantedNames& wanted) const;

    std::vector<std::uint32_t>
        m_begins; // of each part in m_counts, and the end; equal to the next: not known
    std::vector<Count> m_counts;
};

} // namespace gd::gui
