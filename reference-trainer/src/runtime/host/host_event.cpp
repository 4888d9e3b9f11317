// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_backend.h"

#include "runtime/host/capture.h"
#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

namespace gdt::runtime::host {

namespace {

std::shared_ptr<Marker> lastMarker(EventState& event) {
    std::lock_guard lock(event.mutex);
    return event.marker;
}

} // namespace

Status HostDevice::createEvent(EventFlags flags, std::shared_ptr<backend::Event>& event) {
    ApiCall call(
        {.api = GD_API_EVENT_CREATE, .device = m_state.get(), .mode = static_cast<std::uint32_t>(flags)});
    const Status status = callAllowed(*m_state);
    if (!ok(status))
        return call.end(status);
    auto state = std::make_shared<EventState>();
    state->id = nextObjectId();
    state->device = m_state;
    state->flags = flags;
    call.setObject(0, state->id);
    reportEvent(GD_RT_CREATED, *state);
    const Status result = call.end(Status::Success);
    event = std::make_shared<HostEvent>(std::move(state));
    return result;
}

Status HostEvent::destroy() {
    ApiCall call({.api = GD_API_EVENT_DESTROY, .device = m_state->device.get(), .event = m_state->id});
    reportEvent(GD_RT_DESTROYED, *m_state);
    const Status status = call.end(Status::Success);
    m_state.reset();
    return status;
}

Status HostEvent::query() {
    ApiCall call({.api = GD_API_EVENT_QUERY, .device = m_state->device.get(), .event = m_state->id});
    Status status = callAllowed(*m_state->device);
    if (ok(status))
        status = checkEventPoll(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::shared_ptr<Marker> marker = lastMarker(*m_state);
    if (marker != nullptr && marker->timeline()->inlineStream() != nullptr)
        waitForMarker(*marker);
    return call.end(marker == nullptr || marker->done() ? m_state->device->sticky() : Status::NotReady);
}

Status HostEvent::synchronize() {
    ApiCall call({.api = GD_API_EVENT_SYNCHRONIZE, .device = m_state->device.get(), .event = m_state->id});
    Status status = callAllowed(*m_state->device);
    if (ok(status))
        status = checkEventPoll(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::int64_t startNs = call.correlation() != 0 ? nowNs() : 0;
    if (const std::shared_ptr<Marker> marker = lastMarker(*m_state))
        waitForMarker(*marker);
    if (call.correlation() != 0)
        reportSync(*m_state->device, 0, call.correlation(), startNs);
    return call.end(m_state->device->sticky());
}

Status HostEvent::elapsedNs(backend::Event& end, std::int64_t* ns) {
    ApiCall call({.api = GD_API_EVENT_ELAPSED_TIME, .device = m_state->device.get(), .event = m_state->id});
    const Status status = callAllowed(*m_state->device);
    if (!ok(status))
        return call.end(status);
    std::int64_t times[2] = {};
    std::size_t i = 0;
    for (const HostEvent* event : {this, &static_cast<HostEvent&>(end)}) {
        std::lock_guard lock(event->m_state->mutex);
        const std::shared_ptr<Marker>& marker = event->m_state->marker;
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

} // namespace gdt::runtime::host
