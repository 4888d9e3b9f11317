// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that lets the host run a few steps ahead of the device and reads what came of them.
#include "train/trainer.h"

namespace gdt::train {

using runtime::Status;

template <class T> Status Trainer<T>::waitForPace(std::int64_t step) {
    if (step - m_firstStep < kRunAhead) {
        return Status::Success;
    }
    return stepFinished(step - kRunAhead);
}

// The host may see the end of a step late, when it is held up in a launch: how long a step took says the
// device.
template <class T> Status Trainer<T>::stepFinished(std::int64_t step) {
    const runtime::Event& done = m_stepDone[step % kStepEvents];
    GDT_TRY(done.synchronize());
    if (step == m_firstStep) {
        m_report.firstCompleted();
        return Status::Success;
    }
    std::int64_t ns = 0;
    GDT_TRY(runtime::Event::elapsedNs(m_stepDone[(step - 1) % kStepEvents], done, &ns));
    m_report.completed(std::chrono::nanoseconds(ns));
    return Status::Success;
}

template <class T> Status Trainer<T>::drainOne() {
    std::vector<optim::StepRecord> records;
    GDT_TRY(m_reader->next(records));
    m_report.finished(records);
    m_environment->secondsPerStep = m_report.fastestStepSeconds();
    m_records.insert(m_records.end(), records.begin(), records.end());
    return Status::Success;
}

template <class T> Status Trainer<T>::readBack(std::int64_t step) {
    // The copy lies before a step that waitForPace() has seen finished: reading it does not wait.
    if (m_reader->underWay() > 0 && m_reader->oldest() + 1 + kRunAhead <= step) {
        GDT_TRY(drainOne());
    }
    const bool last = step + 1 == m_config.steps;
    if (step + 1 - m_unread < m_config.logInterval && !last) {
        return Status::Success;
    }
    if (m_reader->underWay() == StepReader::kSlots) {
        GDT_TRY(drainOne());
    }
    GDT_TRY(m_reader->request(m_compute.stream(), m_unread, step));
    m_unread = step + 1;
    return Status::Success;
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template Status Trainer<T>::waitForPace(std::int64_t);                                                   \
    template Status Trainer<T>::stepFinished(std::int64_t);                                                  \
    template Status Trainer<T>::drainOne();                                                                  \
    template Status Trainer<T>::readBack(std::int64_t);
GDT_INSTANTIATE(float)
GDT_INSTANTIATE(double)
GDT_INSTANTIATE(kernels::BFloat16)
GDT_INSTANTIATE(kernels::Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::train
