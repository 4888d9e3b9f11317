// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/launcher.h"
#include "runtime/watched_call.h"

#include <mutex>
#include <vector>

namespace gdt::runtime::cuda {

/// What streams, events and graphs of one GPU share.
class DeviceState {
public:
    explicit DeviceState(const DeviceOptions& options);
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    [[nodiscard]] int ordinal() const { return m_ordinal; }
    [[nodiscard]] int multiprocessors() const { return m_multiprocessors; }
    [[nodiscard]] bool tf32() const { return m_tf32; }
    /// Makes the GPU the calling thread's.
    void activate() const;
    /// The same for the length of a call, of which a watchdog learns when it waits. `call` is what the driver
    /// calls it.
    [[nodiscard]] WatchedCall enter(const char* call) const {
        activate();
        return WatchedCall(call);
    }
    /// Memory that stays until the device goes; null when there is none left.
    [[nodiscard]] void* keep(std::size_t bytes);
    [[nodiscard]] std::size_t keptBytes();

private:
    int m_ordinal;
    bool m_tf32;
    int m_multiprocessors = 1;
    std::mutex m_mutex;
    std::vector<void*> m_kept;
    std::size_t m_keptBytes = 0;
};

/// One GPU through the CUDA runtime. Streams, events and graphs keep its state alive.
class CudaDevice final : public backend::Device {
public:
    explicit CudaDevice(const DeviceOptions& options);
    void close() override;
    Status allocate(void** pointer, std::size_t bytes) override;
    Status release(void* pointer) override;
    Status allocateHost(void** pointer, std::size_t bytes) override;
    Status releaseHost(void* pointer) override;
    Status copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) override;
    Status fill(void* destination, int value, std::size_t bytes) override;
    Status synchronize() override;
    Status memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) override;
    [[nodiscard]] std::shared_ptr<backend::Stream> legacyStream() override;
    Status createStream(StreamFlags flags, std::shared_ptr<backend::Stream>& stream) override;
    Status createEvent(EventFlags flags, std::shared_ptr<backend::Event>& event) override;
    [[nodiscard]] int ordinal() const override { return m_state->ordinal(); }
    [[nodiscard]] Status stickyError() const override;
    [[nodiscard]] std::size_t ownBytes() const override { return m_state->keptBytes(); }
    [[nodiscard]] double peakRate(std::size_t elementBytes) const override;
    void notePoolBlock(const backend::PoolBlock&) override { }

private:
    std::shared_ptr<DeviceState> m_state;
};

} // namespace gdt::runtime::cuda
