// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/client.h"

#include "collector/cupti/activity.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/memory_events.h"
#include "collector/cupti/node_params.h"
#include "collector/cupti/refusal.h"
#include "collector/session/sink.h"

// The order of these callbacks, their ids and which fields are valid were read off a device: see
// tests/e2e/probes/README.md, graph_callbacks.

namespace gd::cupti {

namespace {

namespace sink = session::sink;

// Numbers are 0 for null handles, and when CUPTI does not tell: nothing can be said of such an object.
std::uint32_t graphNumber(CUgraph graph) {
    std::uint32_t id = 0;
    if (graph != nullptr && (cuptiApi().getGraphId(graph, &id) != CUPTI_SUCCESS || id == 0)) {
        refused(Refusal::Graphs);
        return 0;
    }
    return id;
}

std::uint64_t nodeNumber(CUgraphNode node) {
    std::uint64_t id = 0;
    if (node != nullptr && cuptiApi().getGraphNodeId(node, &id) != CUPTI_SUCCESS) {
        refused(Refusal::Graphs);
        return 0;
    }
    return id;
}

std::uint32_t execNumber(CUgraphExec exec) {
    std::uint32_t id = 0;
    if (exec != nullptr
        && (cuptiApi().getGraphExecId == nullptr || cuptiApi().getGraphExecId(exec, &id) != CUPTI_SUCCESS)) {
        refused(Refusal::Graphs);
        return 0;
    }
    return id;
}

std::uint32_t graphOfNode(std::uint64_t node) {
    return static_cast<std::uint32_t>(node >> 32);
}

// While a graph is copied (clone, child graph, instantiate) each node is announced as created and then as
// cloned; only the second knows its original.
bool copying(ThreadCalls& calls) {
    const ThreadCalls::Open* open = calls.innermost();
    if (open == nullptr) {
        return false;
    }
    const gd_api_id api = open->arguments.api;
    return api == GD_API_GRAPH_CLONE || (isInstantiate(api) && !open->execStarted)
        || ((api == GD_API_GRAPH_ADD_CHILD_GRAPH_NODE || api == GD_API_GRAPH_ADD_NODE)
            && calls.enclosingNode() != nullptr);
}

bool instantiating(ThreadCalls& calls) {
    return isInstantiate(calls.currentApi());
}

void sayExecEnded(const Objects::ExecEntry& entry) {
    gd_rt_exec exec{};
    exec.size = sizeof exec;
    exec.exec = entry.id;
    exec.graph = entry.graph;
    if (entry.id != 0) {
        sink::exec(GD_RT_DESTROYED, exec, entry.traceable);
    }
    Activity::instance().execDestroyed(entry.traceable, entry.pins, entry.launched);
}

void onContext(Client& client, CUpti_CallbackId id, CUcontext context) {
    gd_rt_object object{};
    object.size = sizeof object;
    if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
        object.device = client.deviceOf(context, object.id);
        sink::context(GD_RT_CREATED, object);
    } else {
        Activity::instance().replayStreams().contextDestroyed(); // also of calls that are not followed
        client.objects().context(context, object.device);
        object.id = client.objects().contextDestroyed(context);
        if (object.id != 0) {
            // cudaDeviceReset ends executables without a word. One that is launched all the same counts as
            // one that nobody announced.
            for (Objects::ExecEntry entry{}; client.objects().execOfContextDestroyed(object.id, entry);) {
                sayExecEnded(entry);
            }
            sink::context(GD_RT_DESTROYED, object);
        }
    }
}

void onStream(Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_ResourceData& data) {
    const CUstream stream = data.resourceHandle.stream;
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        return;
    }
    gd_rt_object object{};
    object.size = sizeof object;
    object.device = client.deviceOf(data.context, object.context);
    if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
        Activity::instance().replayStreams().streamDestroyed(stream);
        object.id = client.objects().streamDestroyed(stream);
        if (object.id != 0) {
            sink::stream(GD_RT_DESTROYED, object);
        }
        return;
    }
    std::uint32_t number = 0;
    if (cuptiApi().getStreamIdEx == nullptr
        || cuptiApi().getStreamIdEx(data.context, stream, 0, &number) != CUPTI_SUCCESS) {
        refused(Refusal::Streams);
        number = 0;
    }
    object.id = client.objects().streamCreated(stream, object.context, number, object.device);
    const gd_api_id api = calls.currentApi();
    if (api == GD_API_STREAM_CREATE || api == GD_API_STREAM_CREATE_WITH_PRIORITY) {
        object.flags = calls.innermost()->arguments.mode & CU_STREAM_NON_BLOCKING;
        object.priority = calls.innermost()->arguments.priority;
    }
    sink::stream(GD_RT_CREATED, object);
}

void reportGraph(gd_rt_life life, std::uint64_t id, std::uint64_t origin) {
    if (id == 0) {
        return;
    }
    gd_rt_graph graph{};
    graph.size = sizeof graph;
    graph.graph = id;
    graph.origin_graph = origin;
    sink::graph(life, graph);
}

void onGraph(Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_GraphData& data) {
    Objects& objects = client.objects();
    if (id == CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING) {
        Objects::GraphEntry entry{};
        if (objects.graphDestroyed(data.graph, entry) && entry.reported) {
            reportGraph(GD_RT_DESTROYED, entry.id, 0);
        }
        return;
    }
    if (id == CUPTI_CBID_RESOURCE_GRAPH_CLONED) {
        Objects::GraphEntry origin{};
        objects.graph(data.originalGraph, origin);
        Objects::GraphEntry entry{};
        objects.graph(data.graph, entry);
        entry.id = entry.id != 0 ? entry.id : graphNumber(data.graph);
        entry.reported = true;
        entry.hasAllocations = origin.hasAllocations;
        entry.hasHostNodes = origin.hasHostNodes;
        objects.graphCreated(data.graph, entry);
        reportGraph(GD_RT_CLONED, entry.id, origin.id);
        return;
    }
    Objects::GraphEntry entry{};
    entry.id = graphNumber(data.graph);
    entry.parentNode = calls.innermost() != nullptr ? nodeNumber(calls.enclosingNode()) : 0;
    if (instantiating(calls) && calls.innermost()->execGraph == 0) {
        calls.innermost()->execGraph = entry.id;
    }
    // What an instantiate builds for itself is the executable (reported as such) and a graph that never runs.
    const bool isOwn = !instantiating(calls) && calls.currentApi() != GD_API_GRAPH_CLONE;
    entry.reported = isOwn;
    if (entry.parentNode != 0) {
        entry.parentGraph = calls.innermost()->arguments.graph;
    }
    objects.graphCreated(data.graph, entry);
    if (isOwn) {
        reportGraph(GD_RT_CREATED, entry.id, 0);
    }
}

gd_rt_node describeNode(
    Client& client, ThreadCalls& calls, const CUpti_GraphData& data, CUgraphNodeType type) {
    gd_rt_node node{};
    node.size = sizeof node;
    node.type = static_cast<std::uint32_t>(type);
    node.node = nodeNumber(data.node);
    node.graph = graphOfNode(node.node);
    Objects::GraphEntry graph{};
    if (client.objects().graph(data.graph, graph)) {
        node.parent_node = graph.parentNode;
    }
    if (const ThreadCalls::Open* open = calls.innermost()) {
        node.stream = open->call.stream; // 0 outside captures: those calls name no stream
        if (instantiating(calls) && open->execGraph != 0) {
            node.graph = open->execGraph; // also for nodes of child graphs, which have numbers of their own
        }
    }
    return node;
}

void onNodeCreated(Client& client, ThreadCalls& calls, const CUpti_GraphData& data) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (!calls.pop(data.node, type)) {
        return; // begun before this library was listening
    }
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        client.objects().mark(data.graph, &Objects::GraphEntry::hasAllocations);
    } else if (type == CU_GRAPH_NODE_TYPE_HOST) {
        client.objects().mark(data.graph, &Objects::GraphEntry::hasHostNodes);
    }
    if (copying(calls)) {
        calls.copied = {data.node, type};
        return;
    }
    if (!sink::enabled()) {
        return; // nor is it known then whether it is being copied, and its parameters are not there yet
    }
    const gd_rt_node node = describeNode(client, calls, data, type);
    if (node.node == 0) {
        return;
    }
    sink::node(GD_RT_CREATED, node, instantiating(calls));
    if (!instantiating(calls) && !reportNodeParams(data.node, type, node.node)) {
        client.nodeParamsUnreadable();
    }
    const gd_api_id api = calls.currentApi();
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
        && (api == GD_API_GRAPH_ADD_MEM_ALLOC_NODE || api == GD_API_GRAPH_ADD_NODE)) {
        allocationNodeAdded(calls.innermost()->call, data.node);
    }
}

void onNodeCloned(Client& client, ThreadCalls& calls, const CUpti_GraphData& data) {
    // Allocation and free nodes of an executable are announced as begun and cloned, never as created.
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (calls.copied.node == data.node) {
        type = calls.copied.type;
    } else {
        calls.pop(data.node, type);
    }
    gd_rt_node node = describeNode(client, calls, data, type);
    node.origin_node = nodeNumber(data.originalNode);
    node.stream = 0;
    if (node.node == 0) {
        return;
    }
    sink::node(GD_RT_CLONED, node, instantiating(calls));
}

void onNodeUpdated(Client& client, const CUpti_GraphData& data) {
    // During cuGraphExecUpdate: `node` is the new template's, `originalNode` the executable's.
    gd_rt_node node{};
    node.size = sizeof node;
    node.node = nodeNumber(data.originalNode);
    node.origin_node = nodeNumber(data.node);
    node.graph = client.objects().execId(data.graphExec);
    if (node.node != 0) {
        sink::node(GD_RT_UPDATED, node, true);
    }
}

void onNodeDestroyed(ThreadCalls& calls, const CUpti_GraphData& data) {
    if (calls.currentApi() != GD_API_GRAPH_DESTROY_NODE) {
        return; // goes with its graph, or an instantiate replaces it
    }
    gd_rt_node node{};
    node.size = sizeof node;
    node.node = nodeNumber(data.node);
    node.graph = graphOfNode(node.node);
    if (node.node != 0) {
        sink::node(GD_RT_DESTROYED, node);
    }
}

void onEdge(Client& client, ThreadCalls& calls, const CUpti_GraphData& data) {
    if (instantiating(calls)) {
        return; // the template has them
    }
    gd_rt_edge edge{};
    edge.size = sizeof edge;
    edge.graph = client.objects().graphId(data.graph);
    edge.from_node = nodeNumber(data.dependency);
    edge.to_node = nodeNumber(data.node);
    if (edge.graph != 0 && edge.from_node != 0 && edge.to_node != 0) {
        sink::edge(edge);
    }
}

std::uint32_t instantiateFlags(const CallArguments& arguments) {
    return arguments.instantiate != nullptr ? static_cast<std::uint32_t>(arguments.instantiate->flags)
                                            : arguments.mode;
}

void onExecCreated(Client& client, ThreadCalls& calls, CUcontext context, const CUpti_GraphData& data) {
    Objects::GraphEntry graph{};
    client.objects().graph(data.graph, graph);
    gd_rt_exec exec{};
    exec.size = sizeof exec;
    exec.exec = execNumber(data.graphExec);
    exec.graph = graph.id;
    if (const ThreadCalls::Open* open = calls.innermost(); open != nullptr && instantiating(calls)) {
        exec.flags = instantiateFlags(open->arguments);
    }
    // Launching one whose allocations are still live fails, and crashes the process while graph tracing is
    // on.
    const bool autoFree = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    const bool pins = graph.hasHostNodes || sink::commSeen();
    const bool traceable = Activity::instance().execCreated({graph.hasAllocations && !autoFree, pins});
    std::uint32_t device = 0;
    const std::uint64_t contextId = client.objects().context(context, device);
    client.objects().execCreated(
        data.graphExec, {static_cast<std::uint32_t>(exec.exec), graph.id, traceable, pins, false, contextId});
    if (exec.exec != 0) {
        sink::exec(GD_RT_CREATED, exec, traceable);
    }
}

void onExecDestroyed(Client& client, const CUpti_GraphData& data) {
    Objects::ExecEntry entry{};
    if (client.objects().execDestroyed(data.graphExec, entry)) {
        sayExecEnded(entry);
    }
}

} // namespace

void onResource(
    Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
    switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        onContext(client, id, data.context);
        return;
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
        onStream(client, calls, id, data);
        return;
    default:
        break;
    }
    const auto* graph = static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
    if (graph == nullptr) {
        return;
    }
    switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPH_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        onGraph(client, calls, id, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
        calls.push(graph->node, graph->nodeType);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
        onNodeCreated(client, calls, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        onNodeCloned(client, calls, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
        onNodeDestroyed(calls, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED:
        onEdge(client, calls, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
        if (ThreadCalls::Open* open = calls.innermost()) {
            open->execStarted = true;
            calls.pendingCount = 0; // nodes of the graph that never runs are begun and never created
        }
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
        onExecCreated(client, calls, data.context, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        onExecDestroyed(client, *graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
        onNodeUpdated(client, *graph);
        break;
    default:
        break;
    }
}

} // namespace gd::cupti
