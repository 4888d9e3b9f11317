// SPDX-License-Identifier: Apache-2.0
#include "train/step_reader.h"

namespace gdt::train {

using runtime::Status;

StepReader::StepReader(runtime::Device& device, const optim::StepState* state)
    : m_device(device)
    , m_state(state) { }

StepReader::~StepReader() {
    for (Slot& slot : m_slots) {
        (void)m_device.releaseHost(slot.copy);
    }
}

Status StepReader::open() {
    for (Slot& slot : m_slots) {
        void* memory = nullptr;
        GDT_TRY(m_device.allocateHost(&memory, sizeof(optim::StepState)));
        slot.copy = static_cast<optim::StepState*>(memory);
        GDT_TRY(runtime::Event::create(m_device, slot.copied, runtime::EventFlags::DisableTiming));
    }
    return Status::Success;
}

Status StepReader::request(runtime::Stream& stream, std::int64_t first, std::int64_t last) {
    Slot& slot = m_slots[m_nextSlot];
    GDT_TRY(
        stream.memcpyAsync(slot.copy, m_state, sizeof(optim::StepState), runtime::CopyKind::DeviceToHost));
    GDT_TRY(stream.record(slot.copied));
    m_pending.push_back({m_nextSlot, first, last});
    m_nextSlot = (m_nextSlot + 1) % kSlots;
    return Status::Success;
}

Status StepReader::next(std::vector<optim::StepRecord>& records) {
    const Request request = m_pending.front();
    const Slot& slot = m_slots[request.slot];
    GDT_TRY(slot.copied.synchronize());
    m_pending.pop_front();
    for (std::int64_t step = request.first; step <= request.last; ++step) {
        records.push_back(slot.copy->history[step % optim::StepState::kHistory]);
    }
    return Status::Success;
}

} // namespace gdt::train
