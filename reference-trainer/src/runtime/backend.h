// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/graph.h"
#include "runtime/kernel.h"
#include "runtime/stream.h"

#include <memory>
#include <string>

// What a backend (host/ or cuda/) implements. The public classes are handles over these and say what each
// call means; an object is only ever given objects of its own backend. The handle calls
// destroy() before it lets an object go.
namespace gdt::runtime::backend {

class Event {
public:
    virtual ~Event() = default;
    virtual Status destroy() = 0;
    virtual Status query() = 0;
    virtual Status synchronize() = 0;
    virtual Status elapsedNs(Event& end, std::int64_t* ns) = 0;
};

class Exec;

class Graph {
public:
    virtual ~Graph() = default;
    virtual Status destroy() = 0;
    virtual Status instantiate(InstantiateFlags flags, std::shared_ptr<Exec>& exec) = 0;
    [[nodiscard]] virtual std::uint64_t id() const = 0;
    [[nodiscard]] virtual std::size_t nodeCount() const = 0;
    [[nodiscard]] virtual NodeView node(std::size_t index) const = 0;
};

class Stream {
public:
    virtual ~Stream() = default;
    virtual Status destroy() = 0;
    virtual Status launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments) = 0;
    virtual Status memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) = 0;
    virtual Status memsetAsync(void* destination, int value, std::size_t bytes) = 0;
    virtual Status hostFunction(HostFunction function, void* userData) = 0;
    virtual Status enqueueComm(const CommCall& call) = 0;
    virtual Status record(Event& event, RecordFlags flags) = 0;
    virtual Status wait(Event& event, WaitFlags flags) = 0;
    virtual Status query() = 0;
    virtual Status synchronize() = 0;
    virtual Status allocateAsync(void** pointer, std::size_t bytes) = 0;
    virtual Status releaseAsync(void* pointer) = 0;
    virtual Status beginCapture(CaptureMode mode) = 0;
    virtual Status endCapture(std::shared_ptr<Graph>& graph) = 0;
    virtual Status captureInfo(CaptureInfo* info) = 0;
    [[nodiscard]] virtual bool capturing() = 0;
    [[nodiscard]] virtual std::uint64_t id() const = 0;
    [[nodiscard]] virtual void* native() const = 0;
};

class Exec {
public:
    virtual ~Exec() = default;
    virtual Status launch(Stream& stream) = 0;
    virtual Status update(Graph& graph, UpdateResult* result) = 0;
    virtual Status destroy() = 0;
    [[nodiscard]] virtual std::uint64_t id() const = 0;
    [[nodiscard]] virtual std::size_t nodeCount() const = 0;
};

/// What GraphPool tells of its blocks.
struct PoolBlock {
    const void* pool = nullptr; ///< base of the reservation
    const void* block = nullptr;
    std::size_t bytes = 0;
    bool freed = false;
};

class Device {
public:
    virtual ~Device() = default;
    /// The owner is going away; streams, events and pools may outlive it.
    virtual void close() = 0;
    virtual Status allocate(void** pointer, std::size_t bytes) = 0;
    virtual Status release(void* pointer) = 0;
    virtual Status allocateHost(void** pointer, std::size_t bytes) = 0;
    virtual Status releaseHost(void* pointer) = 0;
    virtual Status copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) = 0;
    virtual Status fill(void* destination, int value, std::size_t bytes) = 0;
    virtual Status synchronize() = 0;
    virtual Status memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) = 0;
    [[nodiscard]] virtual std::shared_ptr<Stream> legacyStream() = 0;
    virtual Status createStream(StreamFlags flags, std::shared_ptr<Stream>& stream) = 0;
    virtual Status createEvent(EventFlags flags, std::shared_ptr<Event>& event) = 0;
    [[nodiscard]] virtual int ordinal() const = 0;
    [[nodiscard]] virtual Status stickyError() const = 0;
    [[nodiscard]] virtual std::size_t ownBytes() const = 0;
    [[nodiscard]] virtual double peakRate(std::size_t elementBytes) const = 0;
    virtual void notePoolBlock(const PoolBlock& block) = 0;
};

/// Calls that belong to the process and not to a device. A process uses one backend at a time: the one of the
/// device that was created last.
struct ProcessCalls {
    Status (*exchangeThreadCaptureMode)(CaptureMode* mode);
    void (*rangePush)(const char* name, std::uint64_t payload, const char* domain);
    void (*rangePop)(const char* domain);
    void (*rangeMark)(const char* name, std::uint64_t payload, const char* domain);
};

void useProcessCalls(const ProcessCalls& calls);
[[nodiscard]] const ProcessCalls& processCalls();

} // namespace gdt::runtime::backend

namespace gdt::runtime::host {
[[nodiscard]] std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options);
[[nodiscard]] const backend::ProcessCalls& processCalls();
} // namespace gdt::runtime::host
