// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/time_scale.h"

#include <optional>
#include <vector>

namespace gd::gui {

// Scales that were shown before, newest last. Small steps of zooming and panning that follow each other count
// as one: only jumps and the place they left from are worth going back to.
class ZoomHistory {
public:
    static constexpr std::size_t kDepth = 200;

    // To be called with the scale that is left, before a jump.
    void push(const TimeScale& left) {
        if (!m_past.empty() && m_past.back() == left)
            return;
        m_past.push_back(left);
        if (m_past.size() > kDepth)
            m_past.erase(m_past.begin());
    }
    std::optional<TimeScale> back() {
        if (m_past.empty())
            return std::nullopt;
        const TimeScale out = m_past.back();
        m_past.pop_back();
        return out;
    }
    bool empty() const { return m_past.empty(); }
    void clear() { m_past.clear(); }

private:
    std::vector<TimeScale> m_past;
};

} // namespace gd::gui
