// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gdt::runtime {

class Stream;

namespace backend {
class Device;
}

/// What happens when a kernel or copy names device memory that was freed, or freed and handed out again.
enum class StaleAccess {
    Faithful, ///< reads and writes the stale bytes, as a GPU does below a caching allocator
    Checked, ///< freed memory is poisoned, the access fails with IllegalAddress, which sticks to the device
};

enum class Backend { Host, Cuda };

/// Devices of the backend here; the host counts as one, 0 where a GPU or its driver is missing.
[[nodiscard]] int deviceCount(Backend backend);

/// Empty when a device of the backend can be created here, else one sentence why not.
[[nodiscard]] std::string backendProblem(Backend backend, int ordinal = 0);

struct DeviceOptions {
    Backend backend = Backend::Host;
    int ordinal = 0;
    /// CUDA: products of fp32 matrices may round their factors to TF32 (10 bits) and use tensor cores.
    bool tf32 = false;
    /// Host: 0: all queued work runs in the thread that synchronises, in one order; otherwise one worker
    /// thread a stream.
    int hostWorkers = 1;
    /// Host: size of the device's address space; physical pages are used only where touched.
    std::size_t memoryBytes = std::size_t{1} << 30;
    StaleAccess staleAccess = StaleAccess::Faithful;
};

enum class CopyKind : std::uint32_t {
    HostToHost = 0,
    HostToDevice = 1,
    DeviceToHost = 2,
    DeviceToDevice = 3
};

/// A device: its memory, the legacy default stream and any number of streams. Every call may come
/// from any thread. Streams, events and graphs keep what they need of the device alive.
///
/// Capture rules: the calls marked [unsafe] are "potentially unsafe API calls" in CUDA's sense. While a
/// capture forbids them (see exchangeThreadCaptureMode) they fail with CaptureUnsupported and invalidate that
/// capture.
class Device {
public:
    /// Where backendProblem() is not empty every call fails with its status.
    explicit Device(const DeviceOptions& options = {});
    ~Device();
    Device(Device&&) noexcept = default;
    Device& operator=(Device&&) noexcept;

    /// Device memory, 256-byte aligned, at the lowest address that fits. Contents are undefined. [unsafe]
    Status allocate(void** pointer, std::size_t bytes);
    /// Frees device memory after all work queued on the device has finished. nullptr is allowed. [unsafe]
    Status release(void* pointer);
    /// Page-locked host memory, which asynchronous copies read and write without staging. [unsafe]
    Status allocateHost(void** pointer, std::size_t bytes);
    Status releaseHost(void* pointer); ///< [unsafe]

    /// Copies at once, in the order of the legacy default stream. [unsafe]
    Status copy(void* destination, const void* source, std::size_t bytes, CopyKind kind);
    Status fill(void* destination, int value, std::size_t bytes); ///< [unsafe]

    /// Waits for all work of the device. Fails with CaptureUnsupported while any stream of the device
    /// captures.
    Status synchronize();
    Status memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes);

    /// Device memory that the backend took for itself so far, for example the scratch memory of its streams.
    [[nodiscard]] std::size_t ownBytes() const;

    /// Data-sheet rate of dense matrix products whose elements have so many bytes (2: bf16 on tensor cores,
    /// 4: fp32, 8: fp64), in operations a second; 0 where it is not known.
    [[nodiscard]] double peakRate(std::size_t elementBytes) const;

    /// The legacy default stream: it waits for, and is waited for by, every stream that is not non-blocking.
    [[nodiscard]] Stream& defaultStream();
    [[nodiscard]] int ordinal() const;
    /// The first error that a kernel or copy raised; it sticks, and every later call returns it.
    [[nodiscard]] Status stickyError() const;

    [[nodiscard]] const std::shared_ptr<backend::Device>& backend() const { return m_backend; }

private:
    std::shared_ptr<backend::Device> m_backend;
    std::unique_ptr<Stream> m_defaultStream;
};

} // namespace gdt::runtime
