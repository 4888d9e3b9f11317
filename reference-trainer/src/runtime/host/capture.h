// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/host/states.h"

#include <mutex>

// CUDA's rules for calls made while streams capture. Measured with `capture_conformance --backend cuda` on an
// H200, driver 580.159, CUDA 13.0. Every function takes DeviceState::captureMutex itself and is cheap while
// nothing captures.
namespace gdt::runtime::host {

/// A "potentially unsafe" call: CaptureUnsupported, and the captures that forbid it are invalidated, or
/// Success.
[[nodiscard]] Status checkUnsafeCall(DeviceState& device);

/// Host-side wait for, or query of, a stream.
[[nodiscard]] Status checkStreamPoll(StreamState& stream);

/// Host-side wait for the whole device.
[[nodiscard]] Status checkDeviceSynchronize(DeviceState& device);

/// Host-side wait for, or query of, an event.
[[nodiscard]] Status checkEventPoll(EventState& event);

/// Work by a call that uses the legacy default stream although no stream was named.
[[nodiscard]] Status checkLegacyUse(DeviceState& device);

/// Where work given to a stream goes.
enum class Route {
    Run, ///< queue it
    Captured, ///< it became a node
    Refused, ///< return the status
};
struct Routing {
    Route route = Route::Run;
    Status status = Status::Success;
};

enum class Unsafe { No, Yes };

/// Appends the operation to the capture of the stream, if it captures. `unsafe` is for work that is an unsafe
/// call when the stream does not capture. `operation` is moved from only when it was captured.
[[nodiscard]] Routing routeWork(
    StreamState& stream, NodeType type, Operation& operation, Unsafe unsafe = Unsafe::No);

/// Work that cannot be captured at all: the launch of an executable graph.
[[nodiscard]] Routing routeUncapturable(StreamState& stream);

[[nodiscard]] Routing routeRecord(
    StreamState& stream, const std::shared_ptr<EventState>& event, bool external);
[[nodiscard]] Routing routeWait(
    const std::shared_ptr<StreamState>& stream, const std::shared_ptr<EventState>& event, bool external);

[[nodiscard]] Status beginCapture(
    const std::shared_ptr<StreamState>& stream, CaptureMode mode, std::uint64_t* graphId);
[[nodiscard]] Status endCapture(StreamState& stream, std::shared_ptr<GraphState>* graph);
void captureInfo(StreamState& stream, CaptureInfo* info);
/// A destroyed origin takes its capture with it; another member just leaves.
void leaveCapture(StreamState& stream);

/// The graph memory of the capture that the stream is part of; null when it does not capture validly.
[[nodiscard]] std::shared_ptr<GraphMemory> captureMemory(StreamState& stream);

[[nodiscard]] CaptureMode exchangeThreadMode(CaptureMode mode);

} // namespace gdt::runtime::host
