// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/graph.h"
#include "runtime/kernel.h"

namespace gdt::runtime {

namespace backend {
class Stream;
}

struct CommCall;

enum class StreamFlags : std::uint32_t { Default = 0, NonBlocking = 1 };
enum class CaptureMode : std::uint32_t { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class CaptureStatus : std::uint32_t { None = 0, Active = 1, Invalidated = 2 };
enum class RecordFlags : std::uint32_t { Default = 0, External = 1 };
enum class WaitFlags : std::uint32_t { Default = 0, External = 1 };

struct CaptureInfo {
    CaptureStatus status = CaptureStatus::None;
    std::uint64_t id = 0; ///< of the capture sequence, 0 when none
    std::size_t nodeCount = 0;
};

/// Host function for a stream or node. It may not call the runtime: such a call fails with NotPermitted.
using HostFunction = void (*)(void* userData);

/// Replaces the calling thread's capture interaction mode and gives the old one back. A thread starts with
/// Global. Global: [unsafe] calls are forbidden while this thread has a capture that is not relaxed, or any
/// other thread has a global one. ThreadLocal: only the thread's own captures count. Relaxed: nothing is
/// forbidden.
Status exchangeThreadCaptureMode(CaptureMode* mode);

/// Work in first-in first-out order. While the stream captures, calls append nodes to a graph instead of
/// running. Arguments of kernels are copied at the call. Every call may come from any thread.
class Stream {
public:
    Stream() = default;
    ~Stream();
    Stream(Stream&& other) noexcept = default;
    Stream& operator=(Stream&& other) noexcept;

    static Status create(Device& device, Stream& stream, StreamFlags flags = StreamFlags::Default);
    /// Waits until queued work has run. A capture that began on the stream ends with it; a capture that the
    /// stream has only joined goes on.
    Status destroy();

    template <Kernel K> Status launch(const Grid& grid, const typename K::Args& arguments) {
        return launchKernel(kernelInfo<K>(), grid, &arguments);
    }
    Status launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments);
    /// Pageable host memory: a host-to-device copy has read its source when the call returns, a
    /// device-to-host copy has finished; neither holds for memory from allocateHost, nor inside a capture.
    Status memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind);
    Status memsetAsync(void* destination, int value, std::size_t bytes);
    Status hostFunction(HostFunction function, void* userData);
    /// A collective; called by communicators only (comm/communicator.h).
    Status enqueueComm(const CommCall& call);

    Status record(Event& event, RecordFlags flags = RecordFlags::Default);
    Status wait(const Event& event, WaitFlags flags = WaitFlags::Default);
    Status query();
    Status synchronize();

    /// The address is known at once; the memory may be used by later work of this stream.
    Status allocateAsync(void** pointer, std::size_t bytes);
    Status releaseAsync(void* pointer);

    Status beginCapture(CaptureMode mode);
    /// Ends the capture also when it fails; then `graph` is left invalid.
    Status endCapture(Graph& graph);
    Status captureInfo(CaptureInfo* info) const;
    [[nodiscard]] bool
    capturing() const; ///< status Active or Invalidated; not an API call, so no tool sees it

    /// The id that a tool sees, 0 when it sees the backend's own handles.
    [[nodiscard]] std::uint64_t id() const;
    /// The cudaStream_t of a CUDA stream, for communicators; null on the host.
    [[nodiscard]] void* native() const;

    [[nodiscard]] const std::shared_ptr<backend::Stream>& backend() const { return m_backend; }

private:
    friend class Device;
    std::shared_ptr<backend::Stream> m_backend;
};

} // namespace gdt::runtime
