// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_entry.h"

#include <cstdint>

namespace gdt::train {

/// Ranges and marks that a tool may show: one range per step, one per replay, a mark per change of a graph's
/// state. They cost nothing without a tool, and nothing at all after setMarks(false).
void setMarks(bool on);

/// The range "graphdoctor.step" with the step as payload.
class StepRange {
public:
    explicit StepRange(std::int64_t step);
    ~StepRange();
    StepRange(const StepRange&) = delete;
    StepRange& operator=(const StepRange&) = delete;

private:
    bool m_open;
};

/// A mark such as "graph cycle seq=64 mb=4x2 f32: warming -> capturing"; replays become a range instead.
void markTransition(const graphs::Transition& transition);

} // namespace gdt::train
