// SPDX-License-Identifier: Apache-2.0
#include "train/marks.h"

#include "runtime/range.h"

#include <atomic>
#include <string>

namespace gdt::train {

namespace {
std::atomic<bool> g_marks{true};
} // namespace

void setMarks(bool on) {
    g_marks.store(on, std::memory_order_relaxed);
}

StepRange::StepRange(std::int64_t step)
    : m_open(g_marks.load(std::memory_order_relaxed)) {
    if (m_open) {
        runtime::rangePush("graphdoctor.step", static_cast<std::uint64_t>(step));
    }
}

StepRange::~StepRange() {
    if (m_open) {
        runtime::rangePop();
    }
}

void markTransition(const graphs::Transition& t) {
    using graphs::EntryState;
    if (!g_marks.load(std::memory_order_relaxed)) {
        return;
    }
    if (t.to == EntryState::Replaying) {
        runtime::rangePush(graphs::scopeName(t.key.scope));
        return;
    }
    if (t.from == EntryState::Replaying) {
        runtime::rangePop();
    }
    if (t.from != EntryState::Replaying || t.to != EntryState::Ready) {
        std::string text
            = "graph " + t.key.text() + ": " + graphs::stateName(t.from) + " -> " + graphs::stateName(t.to);
        if (t.reason != graphs::Reason::None) {
            text += std::string(" (") + graphs::reasonName(t.reason) + ")";
        }
        runtime::rangeMark(text.c_str(), static_cast<std::uint64_t>(t.to));
    }
}

} // namespace gdt::train
