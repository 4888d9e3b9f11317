// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_entry.h"

#include <cstdint>
#include <string>

namespace gdt::train {

/// Ranges and marks that a tool may show: one range per step, one per region in it, a mark per change of a
/// graph's state. They cost nothing without a tool, and nothing at all after setMarks(false).
void setMarks(bool on);

/// A range that ends with its scope: "graphdoctor.step" with the step as payload, or a region's name.
class MarkedRange {
public:
    explicit MarkedRange(const char* name, std::int64_t payload = 0);
    ~MarkedRange();
    MarkedRange(const MarkedRange&) = delete;
    MarkedRange& operator=(const MarkedRange&) = delete;

private:
    bool m_open;
};

/// A mark such as "graph cycle seq=64 mb=4x2 f32: warming -> capturing", of every change of state
/// except those of a replay, whose range says it. Its payload is the new state.
void markTransition(const graphs::Transition& transition);

/// A mark of any text.
void mark(const std::string& text);

} // namespace gdt::train
