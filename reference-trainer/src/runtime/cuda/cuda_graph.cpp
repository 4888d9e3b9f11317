// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_graph.h"

#include "runtime/cuda/cuda_stream.h"

#include <algorithm>

namespace gdt::runtime::cuda {

namespace {

std::vector<cudaGraphNode_t> dependenciesOf(cudaGraphNode_t node) {
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    if (!ok(statusOf(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count))) || count == 0)
        return {};
    std::vector<cudaGraphNode_t> found(count);
    std::vector<cudaGraphEdgeData> edges(count);
    static_cast<void>(statusOf(cudaGraphNodeGetDependencies(node, found.data(), edges.data(), &count)));
#else
    if (!ok(statusOf(cudaGraphNodeGetDependencies(node, nullptr, &count))) || count == 0)
        return {};
    std::vector<cudaGraphNode_t> found(count);
    static_cast<void>(statusOf(cudaGraphNodeGetDependencies(node, found.data(), &count)));
#endif
    found.resize(count);
    return found;
}

// A name of the driver, which keeps it as long as the function is loaded.
const char* kernelName(cudaGraphNode_t node) {
    cudaKernelNodeParams parameters{};
    const char* name = "";
    if (ok(statusOf(cudaGraphKernelNodeGetParams(node, &parameters))))
        static_cast<void>(statusOf(cudaFuncGetName(&name, parameters.func)));
    return name;
}

} // namespace

CudaGraph::CudaGraph(std::shared_ptr<DeviceState> device, cudaGraph_t handle)
    : m_device(std::move(device))
    , m_handle(handle) {
    std::size_t count = 0;
    if (!ok(statusOf(cudaGraphGetNodes(m_handle, nullptr, &count))) || count == 0)
        return;
    m_nodes.resize(count);
    static_cast<void>(statusOf(cudaGraphGetNodes(m_handle, m_nodes.data(), &count)));
}

Status CudaGraph::destroy() {
    const WatchedCall call = m_device->enter("cuGraphDestroy");
    return statusOf(cudaGraphDestroy(m_handle));
}

Status CudaGraph::instantiate(InstantiateFlags flags, std::shared_ptr<backend::Exec>& exec) {
    const WatchedCall call = m_device->enter("cuGraphInstantiateWithFlags");
    cudaGraphExec_t handle = nullptr;
    const unsigned long long mode
        = flags == InstantiateFlags::AutoFreeOnLaunch ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0;
    GDT_TRY(statusOf(cudaGraphInstantiateWithFlags(&handle, m_handle, mode)));
    exec = std::make_shared<CudaExec>(m_device, handle, m_nodes.size());
    return Status::Success;
}

NodeView CudaGraph::node(std::size_t index) const {
    NodeView view;
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    if (index >= m_nodes.size() || !ok(statusOf(cudaGraphNodeGetType(m_nodes[index], &type))))
        return view;
    view.id = index;
    view.type = static_cast<NodeType>(type);
    if (type == cudaGraphNodeTypeKernel)
        view.kernelName = kernelName(m_nodes[index]);
    for (const cudaGraphNode_t dependency : dependenciesOf(m_nodes[index])) {
        const auto place = std::find(m_nodes.begin(), m_nodes.end(), dependency);
        view.dependencies.push_back(static_cast<std::uint32_t>(place - m_nodes.begin()));
    }
    std::sort(view.dependencies.begin(), view.dependencies.end());
    return view;
}

Status CudaExec::launch(backend::Stream& stream) {
    const WatchedCall call = m_device->enter("cuGraphLaunch");
    return statusOf(cudaGraphLaunch(m_handle, static_cast<CudaStream&>(stream).handle()));
}

Status CudaExec::update(backend::Graph& graph, UpdateResult* result) {
    const WatchedCall call = m_device->enter("cuGraphExecUpdate");
    const auto& source = static_cast<CudaGraph&>(graph);
    cudaGraphExecUpdateResultInfo info{};
    const Status status = statusOf(cudaGraphExecUpdate(m_handle, source.handle(), &info));
    if (result != nullptr)
        *result = static_cast<UpdateResult>(info.result);
    if (ok(status))
        m_nodeCount = source.nodeCount();
    return status;
}

Status CudaExec::destroy() {
    const WatchedCall call = m_device->enter("cuGraphExecDestroy");
    return statusOf(cudaGraphExecDestroy(m_handle));
}

} // namespace gdt::runtime::cuda
