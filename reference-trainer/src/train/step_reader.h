// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/region.h"
#include "optim/step_state.h"

#include <deque>
#include <vector>

namespace gdt::train {

/// Brings the records of finished steps to the host without stopping the device: request() queues a copy of
/// the step state behind the steps so far; next() waits for the oldest copy. With two requests under way the
/// device always has the steps of one interval queued when the host waits. One thread.
class StepReader {
public:
    StepReader(runtime::Device& device, const optim::StepState* state);
    ~StepReader();
    StepReader(const StepReader&) = delete;
    StepReader& operator=(const StepReader&) = delete;

    runtime::Status open();
    /// `first` to `last`, inclusive, are the steps queued since the last request; at most kHistory of them.
    /// At most kSlots requests may be under way.
    runtime::Status request(runtime::Stream& stream, std::int64_t first, std::int64_t last);
    /// Appends the records of the oldest request.
    runtime::Status next(std::vector<optim::StepRecord>& records);
    [[nodiscard]] std::size_t underWay() const { return m_pending.size(); }

    /// Last step of the oldest request.
    [[nodiscard]] std::int64_t oldest() const { return m_pending.front().last; }

    /// Enough for one request a step, each read kRunAhead + 1 steps later.
    static constexpr std::size_t kSlots = 10;

private:
    struct Slot {
        optim::StepState* copy = nullptr; // page-locked
        runtime::Event copied;
    };
    struct Request {
        std::size_t slot;
        std::int64_t first, last;
    };

    runtime::Device& m_device;
    const optim::StepState* m_state;
    Slot m_slots[kSlots];
    std::size_t m_nextSlot = 0;
    std::deque<Request> m_pending;
};

} // namespace gdt::train
