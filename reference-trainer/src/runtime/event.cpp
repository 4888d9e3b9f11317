// SPDX-License-Identifier: Apache-2.0
#include "runtime/event.h"

#include "runtime/backend.h"

namespace gdt::runtime {

Status Event::create(Device& device, Event& event, EventFlags flags) {
    Event created;
    const Status status = device.backend()->createEvent(flags, created.m_backend);
    if (ok(status))
        event = std::move(created);
    return status;
}

Event::~Event() {
    static_cast<void>(destroy());
}

Event& Event::operator=(Event&& other) noexcept {
    if (this != &other) {
        static_cast<void>(destroy());
        m_backend = std::move(other.m_backend);
    }
    return *this;
}

Status Event::destroy() {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    const Status status = m_backend->destroy();
    m_backend.reset();
    return status;
}

Status Event::query() const {
    return m_backend != nullptr ? m_backend->query() : Status::InvalidHandle;
}

Status Event::synchronize() const {
    return m_backend != nullptr ? m_backend->synchronize() : Status::InvalidHandle;
}

Status Event::elapsedNs(const Event& start, const Event& end, std::int64_t* ns) {
    if (start.m_backend == nullptr || end.m_backend == nullptr)
        return Status::InvalidHandle;
    return start.m_backend->elapsedNs(*end.m_backend, ns);
}

} // namespace gdt::runtime
