// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gd::test {

template <class Handle> Handle handle(std::uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

// Graph and executable handles are id << 8; a node's handle is its id.
inline CUgraph graph(std::uint64_t id) {
    return handle<CUgraph>(id << 8);
}
inline CUgraphNode node(std::uint64_t graphId, std::uint64_t index) {
    return handle<CUgraphNode>(graphId << 32 | index);
}

/// Plays the driver: calls a subscriber as CUPTI was seen to do on a device (tests/e2e/probes/README.md).
class PlayedDriver {
public:
    using Notify = std::function<void(CUpti_CallbackDomain, CUpti_CallbackId, const void* data)>;
    explicit PlayedDriver(Notify notify)
        : m_notify(std::move(notify)) { }

    template <class Params> void enter(CUpti_CallbackId id, const Params& params) {
        m_correlation += 1;
        call(id, &params, CUPTI_API_ENTER, CUDA_SUCCESS);
    }
    template <class Params> void exit(CUpti_CallbackId id, const Params& params, int result = 0) {
        call(id, &params, CUPTI_API_EXIT, static_cast<CUresult>(result));
    }
    template <class Params> void both(CUpti_CallbackId id, const Params& params, int result = 0) {
        enter(id, params);
        exit(id, params, result);
    }
    void resource(CUpti_CallbackId id, const CUpti_GraphData& data) {
        CUpti_ResourceData out{};
        out.context = m_context;
        out.resourceDescriptor = const_cast<CUpti_GraphData*>(&data);
        m_notify(CUPTI_CB_DOMAIN_RESOURCE, id, &out);
    }
    void streamResource(CUpti_CallbackId id, CUstream stream) {
        CUpti_ResourceData out{};
        out.context = m_context;
        out.resourceHandle.stream = stream;
        m_notify(CUPTI_CB_DOMAIN_RESOURCE, id, &out);
    }

    void setContext(CUcontext context) { m_context = context; }
    void contextDestroyed() {
        CUpti_ResourceData out{};
        out.context = m_context;
        m_notify(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &out);
    }

    void createStream(CUstream stream, unsigned flags) {
        const cuStreamCreateWithPriority_params params{&stream, flags, -2};
        enter(CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, params);
        streamResource(CUPTI_CBID_RESOURCE_STREAM_CREATED, stream);
        exit(CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, params);
    }
    void destroyStream(CUstream stream) {
        const cuStreamDestroy_v2_params params{stream};
        enter(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, params);
        streamResource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream);
        exit(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, params);
    }
    void beginCapture(
        CUstream stream, std::uint64_t graphId, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
        const cuStreamBeginCapture_v2_params params{stream, mode};
        enter(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, params);
        graphCreated(graphId);
        exit(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, params);
    }
    void endCapture(CUstream stream, std::uint64_t graphId, int result = 0) {
        CUgraph out = result == 0 ? graph(graphId) : nullptr;
        const cuStreamEndCapture_params params{stream, &out};
        both(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, params, result);
    }
    void graphCreated(std::uint64_t id) {
        CUpti_GraphData data{};
        data.graph = graph(id);
        resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, data);
    }
    void nodeStarting(std::uint64_t graphId, std::uint64_t index, CUgraphNodeType type) {
        CUpti_GraphData data{};
        data.graph = graph(graphId);
        data.node = node(graphId, index);
        data.nodeType = type;
        resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, data);
    }
    void nodeCreated(std::uint64_t graphId, std::uint64_t index) {
        CUpti_GraphData data{};
        data.graph = graph(graphId);
        data.node = node(graphId, index);
        resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
    }
    void nodeCloned(std::uint64_t graphId, std::uint64_t index, std::uint64_t fromGraph) {
        CUpti_GraphData data{};
        data.graph = graph(graphId);
        data.originalGraph = graph(fromGraph);
        data.node = node(graphId, index);
        data.originalNode = node(fromGraph, index);
        resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, data);
    }
    void execEvent(CUpti_CallbackId id, std::uint64_t graphId, std::uint64_t execId) {
        CUpti_GraphData data{};
        data.graph = graphId != 0 ? graph(graphId) : nullptr;
        data.graphExec = handle<CUgraphExec>(execId << 8);
        resource(id, data);
    }
    /// A node that a captured memset call makes.
    void captureNode(
        CUstream stream, std::uint64_t graphId, std::uint64_t index, CUgraphNodeType type, int result = 0) {
        const cuMemsetD8Async_params params{0x1000, 0, 16, stream};
        enter(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, params);
        nodeStarting(graphId, index, type);
        nodeCreated(graphId, index);
        exit(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, params, result);
    }
    /// The callbacks of instantiating a graph of `types`, with what the driver builds for itself.
    void instantiate(std::uint64_t graphId, std::uint64_t execId, const std::vector<CUgraphNodeType>& types,
        unsigned long long flags) {
        CUgraphExec exec = handle<CUgraphExec>(execId << 8);
        const cuGraphInstantiateWithFlags_params params{&exec, graph(graphId), flags};
        enter(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, params);
        graphCreated(execId);
        for (std::uint64_t i = 0; i < types.size(); ++i) {
            nodeStarting(execId, i, types[i]);
            if (types[i] != CU_GRAPH_NODE_TYPE_MEM_ALLOC && types[i] != CU_GRAPH_NODE_TYPE_MEM_FREE) {
                nodeCreated(execId, i);
            }
            nodeCloned(execId, i, graphId);
        }
        graphCreated(execId + 1);
        for (std::uint64_t i = 0; i < types.size(); ++i) {
            nodeStarting(execId + 1, i, types[i]);
        }
        execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, graphId, execId);
        nodeStarting(execId, 100, CU_GRAPH_NODE_TYPE_KERNEL);
        nodeCreated(execId, 100);
        execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graphId, execId);
        exit(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, params);
    }

    std::uint32_t correlation() const { return m_correlation; }

private:
    void call(CUpti_CallbackId id, const void* params, CUpti_ApiCallbackSite site, CUresult result) {
        CUpti_CallbackData data{};
        data.callbackSite = site;
        data.functionParams = params;
        data.functionReturnValue = site == CUPTI_API_EXIT ? &result : nullptr;
        data.context = m_context;
        data.correlationId = m_correlation;
        m_notify(CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    }

    Notify m_notify;
    CUcontext m_context = handle<CUcontext>(0xc0);
    std::uint32_t m_correlation = 0;
};

} // namespace gd::test
