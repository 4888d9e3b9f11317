// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/cuda_device.h"

namespace gdt::runtime::cuda {

/// A cudaGraph_t, which it owns until destroy(). id() is the handle: CUDA may use it again after that.
class CudaGraph final : public backend::Graph {
public:
    CudaGraph(std::shared_ptr<DeviceState> device, cudaGraph_t handle);
    Status destroy() override;
    Status instantiate(InstantiateFlags flags, std::shared_ptr<backend::Exec>& exec) override;
    [[nodiscard]] std::uint64_t id() const override { return reinterpret_cast<std::uint64_t>(m_handle); }
    [[nodiscard]] std::size_t nodeCount() const override { return m_nodes.size(); }
    [[nodiscard]] NodeView node(std::size_t index) const override;

    [[nodiscard]] cudaGraph_t handle() const { return m_handle; }

private:
    std::shared_ptr<DeviceState> m_device;
    cudaGraph_t m_handle;
    std::vector<cudaGraphNode_t> m_nodes; // each after those it depends on
};

/// A cudaGraphExec_t, likewise.
class CudaExec final : public backend::Exec {
public:
    CudaExec(std::shared_ptr<DeviceState> device, cudaGraphExec_t handle, std::size_t nodes)
        : m_device(std::move(device))
        , m_handle(handle)
        , m_nodeCount(nodes) { }
    Status launch(backend::Stream& stream) override;
    Status update(backend::Graph& graph, UpdateResult* result) override;
    Status destroy() override;
    [[nodiscard]] std::uint64_t id() const override { return reinterpret_cast<std::uint64_t>(m_handle); }
    [[nodiscard]] std::size_t nodeCount() const override { return m_nodeCount; }

private:
    std::shared_ptr<DeviceState> m_device;
    cudaGraphExec_t m_handle;
    std::size_t m_nodeCount;
};

} // namespace gdt::runtime::cuda
