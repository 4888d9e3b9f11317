// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/cuda_device.h"

namespace gdt::runtime::cuda {

/// A cudaEvent_t, which it owns until destroy().
class CudaEvent final : public backend::Event {
public:
    CudaEvent(std::shared_ptr<DeviceState> device, cudaEvent_t handle)
        : m_device(std::move(device))
        , m_handle(handle) { }
    Status destroy() override;
    Status query() override;
    Status synchronize() override;
    Status elapsedNs(backend::Event& end, std::int64_t* ns) override;

    [[nodiscard]] cudaEvent_t handle() const { return m_handle; }

private:
    std::shared_ptr<DeviceState> m_device;
    cudaEvent_t m_handle;
};

} // namespace gdt::runtime::cuda
