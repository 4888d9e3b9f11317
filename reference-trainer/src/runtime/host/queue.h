// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/host/states.h"

namespace gdt::runtime::host {

/// A stream with its worker, known to the device.
[[nodiscard]] std::shared_ptr<StreamState> makeStream(
    const std::shared_ptr<DeviceState>& device, bool nonBlocking, bool legacy);

/// Queues the operation after what the legacy rules demand, and returns its sequence number.
std::uint64_t enqueue(StreamState& stream, Operation operation, std::uint64_t correlation);

/// A recording of an event at the present end of the stream's queue.
std::shared_ptr<Marker> enqueueMarker(
    StreamState& stream, const std::shared_ptr<EventState>& event, std::uint64_t correlation);

/// Queues a replay; launches of one executable run one after the other. The caller holds exec.mutex.
void enqueueReplay(StreamState& stream, ExecState& exec, ReplayOperation replay, std::uint64_t correlation);

/// Blocks until the entry has run; without workers runs the queue up to it.
void waitFor(Timeline& timeline, std::uint64_t sequence);
void waitForMarker(Marker& marker);
/// Whether everything queued so far has run. Without workers it runs it.
[[nodiscard]] bool idle(StreamState& stream);
/// Blocks until everything queued so far has run.
void drain(StreamState& stream);
/// The same for all streams of the device; the legacy rules are then met too.
void drainDevice(DeviceState& device);

} // namespace gdt::runtime::host
