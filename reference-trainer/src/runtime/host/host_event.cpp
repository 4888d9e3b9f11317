// SPDX-License-Identifier: Apache-2.0
#include "runtime/event.h"

#include "runtime/host/capture.h"
#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

namespace gdt::runtime {

using host::ApiCall;

namespace {

std::shared_ptr<host::Marker> lastMarker(host::EventState& event) {
    std::lock_guard lock(event.mutex);
    return event.marker;
}

} // namespace

Status Event::create(Device& device, Event& event, EventFlags flags) {
    ApiCall call({.api = GD_API_EVENT_CREATE,
        .device = device.state().get(),
        .mode = static_cast<std::uint32_t>(flags)});
    const Status status = host::callAllowed(*device.state());
    if (!ok(status))
        return call.end(status);
    auto state = std::make_shared<host::EventState>();
    state->id = host::nextObjectId();
    state->device = device.state();
    state->flags = flags;
    call.setObject(0, state->id);
    host::reportEvent(GD_RT_CREATED, *state);
    const Status result = call.end(Status::Success);
    Event created;
    created.m_state = std::move(state);
    event = std::move(created);
    return result;
}

Event::~Event() {
    static_cast<void>(destroy());
}

Event& Event::operator=(Event&& other) noexcept {
    if (this != &other) {
        static_cast<void>(destroy());
        m_state = std::move(other.m_state);
    }
    return *this;
}

Status Event::destroy() {
    if (m_state == nullptr)
        return Status::InvalidHandle;
    ApiCall call({.api = GD_API_EVENT_DESTROY, .device = m_state->device.get(), .event = m_state->id});
    host::reportEvent(GD_RT_DESTROYED, *m_state);
    const Status status = call.end(Status::Success);
    m_state.reset();
    return status;
}

Status Event::query() const {
    if (m_state == nullptr)
        return Status::InvalidHandle;
    ApiCall call({.api = GD_API_EVENT_QUERY, .device = m_state->device.get(), .event = m_state->id});
    Status status = host::callAllowed(*m_state->device);
    if (ok(status))
        status = host::checkEventPoll(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::shared_ptr<host::Marker> marker = lastMarker(*m_state);
    if (marker != nullptr && marker->timeline()->inlineStream() != nullptr)
        host::waitForMarker(*marker);
    return call.end(marker == nullptr || marker->done() ? m_state->device->sticky() : Status::NotReady);
}

Status Event::synchronize() const {
    if (m_state == nullptr)
        return Status::InvalidHandle;
    ApiCall call({.api = GD_API_EVENT_SYNCHRONIZE, .device = m_state->device.get(), .event = m_state->id});
    Status status = host::callAllowed(*m_state->device);
    if (ok(status))
        status = host::checkEventPoll(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::int64_t startNs = call.correlation() != 0 ? host::nowNs() : 0;
    if (const std::shared_ptr<host::Marker> marker = lastMarker(*m_state))
        host::waitForMarker(*marker);
    if (call.correlation() != 0)
        host::reportSync(*m_state->device, 0, call.correlation(), startNs);
    return call.end(m_state->device->sticky());
}

Status Event::elapsedNs(const Event& start, const Event& end, std::int64_t* ns) {
    if (start.m_state == nullptr || end.m_state == nullptr)
        return Status::InvalidHandle;
    ApiCall call({.api = GD_API_EVENT_ELAPSED_TIME,
        .device = start.m_state->device.get(),
        .event = start.m_state->id});
    const Status status = host::callAllowed(*start.m_state->device);
    if (!ok(status))
        return call.end(status);
    std::int64_t times[2] = {};
    std::size_t i = 0;
    for (const Event* event : {&start, &end}) {
        std::lock_guard lock(event->m_state->mutex);
        const std::shared_ptr<host::Marker>& marker = event->m_state->marker;
        if (event->m_state->captured || marker == nullptr
            || event->m_state->flags == EventFlags::DisableTiming)
            return call.end(Status::InvalidHandle);
        if (!marker->done())
            return call.end(Status::NotReady);
        times[i++] = marker->timeNs();
    }
    *ns = times[1] - times[0];
    return call.end(Status::Success);
}

} // namespace gdt::runtime
