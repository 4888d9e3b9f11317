// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"

namespace gdt::runtime {

namespace backend {
class Event;
}

enum class EventFlags : std::uint32_t { Default = 0, DisableTiming = 2 };

/// A point in a stream's order, set by Stream::record. An event that was never recorded counts as complete.
/// An event last recorded inside a capture cannot be asked from the host: that gives CapturedEvent and
/// invalidates the capture.
class Event {
public:
    Event() = default;
    ~Event();
    Event(Event&& other) noexcept = default;
    Event& operator=(Event&& other) noexcept;

    static Status create(Device& device, Event& event, EventFlags flags = EventFlags::Default);
    Status destroy();

    /// Success or NotReady.
    Status query() const;
    Status synchronize() const;
    /// Time between two completed events recorded with timing. NotReady when one has not completed.
    static Status elapsedNs(const Event& start, const Event& end, std::int64_t* ns);

    [[nodiscard]] const std::shared_ptr<backend::Event>& backend() const { return m_backend; }

private:
    std::shared_ptr<backend::Event> m_backend;
};

} // namespace gdt::runtime
