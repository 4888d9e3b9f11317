// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace gd::cupti {

/// When a kind of activity was off. CUPTI delivers what was in flight when a kind is switched off, but with
/// an end from when the kind came back or the context was next flushed (measured on an H200: 56 us kernels of
/// a replay in flight got 204,647 us), so records that touch an off interval cannot be trusted. Keeps the
/// last kKept intervals; times in ns of the records' clock. Not thread-safe: copy it under the owner's lock.
class OffIntervals {
public:
    static constexpr unsigned kKept = 64;

    void switchedOff(std::int64_t nowNs) {
        if (!m_isOff) {
            m_isOff = true;
            m_intervals[m_count++ % kKept] = {nowNs, std::numeric_limits<std::int64_t>::max()};
        }
    }
    void switchedOn(std::int64_t nowNs) {
        if (m_isOff) {
            m_isOff = false;
            m_intervals[(m_count - 1) % kKept].toNs = nowNs;
        }
    }
    bool touches(std::int64_t startNs, std::int64_t endNs) const {
        const unsigned kept = m_count < kKept ? m_count : kKept;
        for (unsigned i = 0; i < kept; ++i) {
            if (startNs < m_intervals[i].toNs && endNs > m_intervals[i].fromNs) {
                return true;
            }
        }
        return false;
    }

private:
    struct Interval {
        std::int64_t fromNs;
        std::int64_t toNs;
    };
    Interval m_intervals[kKept] = {};
    unsigned m_count = 0;
    bool m_isOff = false;
};

} // namespace gd::cupti
