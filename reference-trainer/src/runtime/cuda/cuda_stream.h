// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/cuda_device.h"

#include <atomic>

namespace gdt::runtime::cuda {

/// Scratch memory of one stream's kernels: taken from the device at the first use, kept to the device's end.
class StreamWorkspace final : public Workspace {
public:
    explicit StreamWorkspace(DeviceState& device)
        : m_device(device) { }
    [[nodiscard]] void* memory() override;

private:
    DeviceState& m_device;
    std::mutex m_mutex;
    void* m_memory = nullptr;
};

/// A cudaStream_t, which it owns until destroy(), unless it is the legacy stream.
class CudaStream final : public backend::Stream {
public:
    CudaStream(std::shared_ptr<DeviceState> device, cudaStream_t handle);
    Status destroy() override;
    Status launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments) override;
    Status memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) override;
    Status memsetAsync(void* destination, int value, std::size_t bytes) override;
    Status hostFunction(HostFunction function, void* userData) override;
    /// The shared-memory communicator's way; NCCL is called on native() instead.
    Status enqueueComm(const CommCall&) override { return Status::NotSupported; }
    Status record(backend::Event& event, RecordFlags flags) override;
    Status wait(backend::Event& event, WaitFlags flags) override;
    Status query() override;
    Status synchronize() override;
    Status allocateAsync(void** pointer, std::size_t bytes) override;
    Status releaseAsync(void* pointer) override;
    Status beginCapture(CaptureMode mode) override;
    Status endCapture(std::shared_ptr<backend::Graph>& graph) override;
    Status captureInfo(CaptureInfo* info) override;
    [[nodiscard]] bool capturing() override;
    [[nodiscard]] std::uint64_t id() const override { return 0; }
    [[nodiscard]] void* native() const override { return m_handle; }

    [[nodiscard]] cudaStream_t handle() const { return m_handle; }

private:
    std::shared_ptr<DeviceState> m_device;
    cudaStream_t m_handle;
    StreamWorkspace m_workspace;
};

} // namespace gdt::runtime::cuda
