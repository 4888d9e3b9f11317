// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/host/arena.h"
#include "runtime/host/operation.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gdt::runtime::host {

struct DeviceState;
struct StreamState;

/// Memory of a graph's allocation nodes: reserved at capture, given back when the graph and all its
/// executables are gone, so that addresses stay the same over replays.
struct GraphMemory {
    std::shared_ptr<DeviceState> device;
    std::map<void*, std::size_t> blocks;
    explicit GraphMemory(std::shared_ptr<DeviceState> owner)
        : device(std::move(owner)) { }
    ~GraphMemory();
};

struct GraphState {
    std::uint64_t id = 0;
    std::shared_ptr<DeviceState> device;
    std::vector<Node> nodes;
    std::shared_ptr<GraphMemory> memory;
};

/// What one version of an executable graph runs. Immutable: an update makes a new one, queued launches keep
/// the old.
struct ExecBody {
    std::vector<Node> nodes;
    std::shared_ptr<GraphMemory> memory;
    std::vector<void*> allocated; ///< by this graph
    std::vector<void*> leftLive; ///< allocated and not released in the graph
};

struct ExecState {
    std::uint64_t id = 0;
    std::uint64_t templateGraph = 0;
    InstantiateFlags flags = InstantiateFlags::Default;
    std::shared_ptr<DeviceState> device;

    std::mutex mutex; // orders launches and updates
    std::shared_ptr<const ExecBody> body;
    std::shared_ptr<Timeline> lastTimeline;
    std::uint64_t lastSequence = 0;
};

/// One capture sequence, from begin to end. Guarded by DeviceState::captureMutex.
struct Capture {
    std::uint64_t id = 0;
    CaptureMode mode = CaptureMode::Global;
    std::thread::id thread;
    StreamState* origin = nullptr;
    std::vector<StreamState*> members; ///< with the origin
    bool invalidated = false;
    std::shared_ptr<GraphState> graph;
};

struct EventState {
    std::uint64_t id = 0;
    std::shared_ptr<DeviceState> device;
    EventFlags flags = EventFlags::Default;

    std::mutex mutex;
    std::shared_ptr<Marker> marker; ///< null: never recorded outside a capture
    bool captured = false; ///< the last record was inside a capture
    std::weak_ptr<Capture> capture;
    std::vector<std::uint32_t> captureNodes;
};

/// A stream's queue and worker. The worker sleeps on `wake` while there is nothing to do.
struct StreamState {
    std::uint64_t id = 0;
    std::shared_ptr<DeviceState> device;
    bool nonBlocking = false;
    bool legacy = false;
    std::shared_ptr<Timeline> timeline;

    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Entry> queue;
    std::atomic<std::uint64_t> lastSequence{0};
    std::mutex orderMutex; ///< guards the two below
    std::uint64_t seenLegacy = 0; ///< legacy entries that this stream already waits for
    std::map<std::uint64_t, std::uint64_t> seenBlocking; ///< legacy stream only: stream id -> sequence
    bool stop = false;
    std::thread worker;
    std::recursive_mutex inlineMutex; ///< without workers: one thread at a time runs the queue

    std::shared_ptr<Capture> capture; ///< guarded by DeviceState::captureMutex, as is frontier
    std::vector<std::uint32_t> frontier;

    ~StreamState();
};

struct DeviceState {
    DeviceOptions options;
    std::uint64_t contextId = 0;
    std::unique_ptr<Arena> arena;

    std::mutex streamsMutex;
    std::vector<std::weak_ptr<StreamState>> streams;
    std::weak_ptr<StreamState> legacyStream;

    std::mutex pinnedMutex;
    std::map<std::uintptr_t, std::size_t> pinned;

    /// Stream-ordered and graph allocations by address; the value says whether a graph block is live.
    std::mutex orderedMutex;
    std::map<void*, bool> graphBlocks;

    std::atomic<std::int32_t> stickyError{0};

    /// Counts captures, so that calls outside captures take no lock.
    std::atomic<std::uint32_t> captureCount{0};
    std::mutex captureMutex;
    std::vector<std::shared_ptr<Capture>> captures;

    ~DeviceState();

    [[nodiscard]] bool checked() const { return options.staleAccess == StaleAccess::Checked; }
    [[nodiscard]] bool isPinned(const void* pointer);
    void raise(Status status);
    [[nodiscard]] Status sticky() const {
        return static_cast<Status>(stickyError.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::vector<std::shared_ptr<StreamState>> liveStreams();
};

/// Never 0 and never reused in the process; graphs and executables draw from the same numbers.
[[nodiscard]] std::uint64_t nextObjectId();

/// Appends every device address that the operation names, with its block's present generation.
void collectReferences(
    const DeviceState& device, const Operation& operation, std::vector<Reference>& references);

/// Whether each side of the copy lies where `kind` says.
[[nodiscard]] bool copyValid(
    const DeviceState& device, const void* destination, const void* source, CopyKind kind);

/// What Device::release does.
[[nodiscard]] Status releaseDeviceMemory(DeviceState& device, void* pointer);

/// Success, or why no call may be made now: inside a host function, or after a sticky error.
[[nodiscard]] Status callAllowed(const DeviceState& device);

} // namespace gdt::runtime::host
