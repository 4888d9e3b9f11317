// SPDX-License-Identifier: Apache-2.0
#include "train/marks.h"

#include "runtime/range.h"

#include <atomic>

namespace gdt::train {

namespace {
// On until setMarks() says otherwise.
std::atomic<bool>& marks() {
    static std::atomic<bool> on{true};
    return on;
}
} // namespace

void setMarks(bool on) {
    marks().store(on, std::memory_order_relaxed);
}

MarkedRange::MarkedRange(const char* name, std::int64_t payload)
    : m_open(marks().load(std::memory_order_relaxed)) {
    if (m_open) {
        runtime::rangePush(name, static_cast<std::uint64_t>(payload));
    }
}

MarkedRange::~MarkedRange() {
    if (m_open) {
        runtime::rangePop();
    }
}

void mark(const std::string& text) {
    if (marks().load(std::memory_order_relaxed)) {
        runtime::rangeMark(text.c_str(), 0);
    }
}

void markTransition(const graphs::Transition& t) {
    using graphs::EntryState;
    const bool replay
        = t.to == EntryState::Replaying || (t.from == EntryState::Replaying && t.to == EntryState::Ready);
    if (replay || !marks().load(std::memory_order_relaxed)) {
        return;
    }
    std::string text
        = "graph " + t.key.text() + ": " + graphs::stateName(t.from) + " -> " + graphs::stateName(t.to);
    if (t.reason != graphs::Reason::None) {
        text += " (" + t.reasonText() + ")";
    }
    if (t.nodes > 0) {
        text += ", " + std::to_string(t.nodes) + " nodes";
    }
    runtime::rangeMark(text.c_str(), static_cast<std::uint64_t>(t.to));
}

} // namespace gdt::train
