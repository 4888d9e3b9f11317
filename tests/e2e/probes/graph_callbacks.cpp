// SPDX-License-Identifier: Apache-2.0
// Question: in which order do CUPTI's resource callbacks arrive while a graph is captured, instantiated,
// updated and cloned, which ids do the objects carry, and may node parameters be read inside them? Loaded
// with CUDA_INJECTION64_PATH; prints one line a callback on stderr. See README.md for what was seen.
#include <cstdint>
#include <cstdio>

#include <cupti.h>

namespace {

std::uint32_t graphId(CUgraph graph) {
    std::uint32_t id = 0;
    return graph != nullptr && cuptiGetGraphId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

std::uint32_t execId(CUgraphExec exec) {
    std::uint32_t id = 0;
    return exec != nullptr && cuptiGetGraphExecId(exec, &id) == CUPTI_SUCCESS ? id : 0;
}

unsigned long long nodeId(CUgraphNode node) {
    std::uint64_t id = 0;
    return node != nullptr && cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS ? id : 0;
}

const char* resourceName(CUpti_CallbackId id) {
    switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
        return "GRAPH_CREATED";
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        return "GRAPH_DESTROY_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPH_CLONED:
        return "GRAPH_CLONED";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
        return "NODE_CREATE_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
        return "NODE_CREATED";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
        return "NODE_DESTROY_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED:
        return "DEPENDENCY_CREATED";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING:
        return "DEPENDENCY_DESTROY_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
        return "EXEC_CREATE_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
        return "EXEC_CREATED";
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        return "EXEC_DESTROY_STARTING";
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        return "NODE_CLONED";
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
        return "NODE_UPDATED";
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
        return "NODE_SET_PARAMS";
    default:
        return nullptr;
    }
}

void printKernel(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS params{};
    const CUresult got = cuGraphKernelNodeGetParams(node, &params);
    const char* name = "?";
    if (got == CUDA_SUCCESS && params.func != nullptr) {
        cuFuncGetName(&name, params.func);
    } else if (got == CUDA_SUCCESS && params.kern != nullptr) {
        cuKernelGetName(&name, params.kern);
    }
    std::fprintf(stderr, "    kernel params rc=%d func=%p kern=%p kernelParams=%p extra=%p name=%.60s", got,
        static_cast<void*>(params.func), static_cast<void*>(params.kern),
        static_cast<void*>(params.kernelParams), static_cast<void*>(params.extra), name);
    for (std::size_t i = 0; got == CUDA_SUCCESS && i < 4; ++i) {
        std::size_t offset = 0;
        std::size_t bytes = 0;
        const CUresult info = params.func != nullptr ? cuFuncGetParamInfo(params.func, i, &offset, &bytes)
                                                     : cuKernelGetParamInfo(params.kern, i, &offset, &bytes);
        std::fprintf(stderr, " p%zu(rc=%d off=%zu size=%zu)", i, info, offset, bytes);
    }
    std::fprintf(stderr, "\n");
}

void onResource(CUpti_CallbackId id, const CUpti_ResourceData* data) {
    if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED || id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
        std::fprintf(stderr, "RES %u\n", id);
        std::uint32_t stream = 0;
        const auto rc = cuptiGetStreamIdEx(data->context, data->resourceHandle.stream, 0, &stream);
        std::fprintf(stderr, "RES %s stream %p id %u (rc %d)\n",
            id == CUPTI_CBID_RESOURCE_STREAM_CREATED ? "STREAM_CREATED" : "STREAM_DESTROY",
            static_cast<void*>(data->resourceHandle.stream), stream, rc);
        return;
    }
    const char* name = resourceName(id);
    if (name == nullptr) {
        std::fprintf(stderr, "RES %u data %p\n", id, static_cast<const void*>(data));
        return;
    }
    const auto* graph = static_cast<const CUpti_GraphData*>(data->resourceDescriptor);
    std::fprintf(stderr,
        "RES %s graph %u(%p) originalGraph %u(%p) node %llx(%p) originalNode %llx type %d "
        "dependency %llx exec %u(%p)\n",
        name, graphId(graph->graph), static_cast<void*>(graph->graph), graphId(graph->originalGraph),
        static_cast<void*>(graph->originalGraph), nodeId(graph->node), static_cast<void*>(graph->node),
        nodeId(graph->originalNode), static_cast<int>(graph->nodeType), nodeId(graph->dependency),
        id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING ? 0 : execId(graph->graphExec),
        static_cast<void*>(graph->graphExec));
    if ((id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
            || id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED)
        && graph->nodeType == CU_GRAPH_NODE_TYPE_KERNEL) {
        printKernel(graph->node);
    }
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        onResource(id, static_cast<const CUpti_ResourceData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        const auto* call = static_cast<const CUpti_CallbackData*>(data);
        const bool exit = call->callbackSite == CUPTI_API_EXIT;
        std::fprintf(stderr, "API %s %s corr %u rc %d\n", call->functionName, exit ? "exit" : "enter",
            call->correlationId,
            exit ? static_cast<int>(*static_cast<CUresult*>(call->functionReturnValue)) : -1);
    }
}

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    static CUpti_SubscriberHandle subscriber;
    const auto rc = cuptiSubscribe(&subscriber, onCallback, nullptr);
    std::uint32_t version = 0;
    cuptiGetVersion(&version);
    std::fprintf(stderr, "subscribe %d, CUPTI version %u\n", rc, version);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    return 1;
}
