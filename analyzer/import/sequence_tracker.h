// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gd::importer {

// Which record numbers of one lane (of one thread) were seen: tells copies apart that lie in the segment and
// in the ring, and finds what is missing.
class SequenceTracker {
public:
    struct Gap {
        std::uint64_t first; // missing numbers [first, first + count)
        std::uint64_t count;
        std::int64_t fromNs; // time of the record before and after it, as far as known
        std::int64_t toNs;
    };

    SequenceTracker() = default;
    SequenceTracker(const SequenceTracker&) = delete; // holds iterators into itself
    SequenceTracker& operator=(const SequenceTracker&) = delete;

    // False: this number was seen before. `timeNs` 0 = the record has no time. Records carry the low 32 bits
    // of their number: the one nearest to the last that was added is meant.
    bool add(std::uint32_t low, std::int64_t timeNs) {
        const std::uint64_t sequence = wholeNumber(low);
        m_last = sequence;
        if (m_current != m_runs.end() && sequence == m_current->second.end && sequence < m_limit) {
            ++m_current->second.end;
            if (timeNs != 0)
                m_current->second.lastNs = timeNs;
            return true;
        }
        return addSlowly(sequence, timeNs);
    }
    // Missing numbers below the highest that was seen, `from` on.
    std::vector<Gap> gaps(std::uint64_t from = 0) const;
    std::uint64_t highest() const { return m_runs.empty() ? 0 : m_runs.rbegin()->second.end; }

private:
    struct Run {
        std::uint64_t end; // one past the last number
        std::int64_t firstNs;
        std::int64_t lastNs;
    };
    static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

    std::uint64_t wholeNumber(std::uint32_t low) const {
        const auto step = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(m_last));
        const std::int64_t number = static_cast<std::int64_t>(m_last) + step;
        return m_runs.empty() || number < 0 ? low : static_cast<std::uint64_t>(number);
    }
    bool addSlowly(std::uint64_t sequence, std::int64_t timeNs);
    void setCurrent(std::map<std::uint64_t, Run>::iterator run);

    std::map<std::uint64_t, Run> m_runs; // by first number, never touching each other but at m_limit
    std::map<std::uint64_t, Run>::iterator m_current = m_runs.end();
    std::uint64_t m_last = 0; // number added last
    std::uint64_t m_limit = kNoLimit; // first number of the run behind the current one
};

} // namespace gd::importer
