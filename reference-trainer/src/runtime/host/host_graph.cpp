// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_backend.h"

#include "runtime/host/capture.h"
#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

#include <algorithm>

namespace gdt::runtime::host {

GraphMemory::~GraphMemory() {
    for (const auto& [pointer, bytes] : blocks) {
        {
            std::lock_guard lock(device->orderedMutex);
            device->graphBlocks.erase(pointer);
        }
        reportFree({GD_RT_MEMORY_GRAPH, *device, pointer, bytes});
        static_cast<void>(device->arena->release(pointer));
    }
}

namespace {

std::shared_ptr<const ExecBody> makeBody(const GraphState& graph) {
    auto body = std::make_shared<ExecBody>();
    body->nodes = graph.nodes;
    body->memory = graph.memory;
    for (const Node& node : graph.nodes) {
        if (const auto* alloc = std::get_if<AllocOperation>(&node.operation)) {
            body->allocated.push_back(alloc->pointer);
            body->leftLive.push_back(alloc->pointer);
        } else if (const auto* release = std::get_if<ReleaseOperation>(&node.operation)) {
            std::erase(body->leftLive, release->pointer);
        }
    }
    return body;
}

bool sameComm(const Operation& a, const Operation& b) {
    const auto* left = std::get_if<CommOperation>(&a);
    const auto* right = std::get_if<CommOperation>(&b);
    return left == nullptr || right == nullptr
        || (left->call.endpoint == right->call.endpoint
            && left->call.arguments.kind == right->call.arguments.kind);
}

bool sameCopyKind(const Operation& a, const Operation& b) {
    const auto* left = std::get_if<CopyOperation>(&a);
    const auto* right = std::get_if<CopyOperation>(&b);
    return left == nullptr || right == nullptr || left->kind == right->kind;
}

UpdateResult compare(const std::vector<Node>& before, const std::vector<Node>& after) {
    const auto sameEdges = [](const Node& a, const Node& b) { return a.dependencies == b.dependencies; };
    if (!std::equal(before.begin(), before.end(), after.begin(), after.end(), sameEdges))
        return UpdateResult::TopologyChanged;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].type != after[i].type)
            return UpdateResult::NodeTypeChanged;
        if (before[i].type == NodeType::MemAlloc || before[i].type == NodeType::MemFree)
            return UpdateResult::NotSupported;
        if (!sameComm(before[i].operation, after[i].operation))
            return UpdateResult::FunctionChanged;
        if (!sameCopyKind(before[i].operation, after[i].operation))
            return UpdateResult::ParametersChanged;
    }
    return UpdateResult::Success;
}

// Whether the graph's own allocations of an earlier launch are gone; if not, a launch would hand them out
// twice.
Status claimMemory(ExecState& exec) {
    const ExecBody& body = *exec.body;
    if (body.allocated.empty())
        return Status::Success;
    std::lock_guard lock(exec.device->orderedMutex);
    std::map<void*, bool>& blocks = exec.device->graphBlocks;
    const bool live = std::any_of(
        body.allocated.begin(), body.allocated.end(), [&](void* block) { return blocks[block]; });
    if (live && exec.flags != InstantiateFlags::AutoFreeOnLaunch)
        return Status::InvalidValue;
    for (void* block : body.leftLive)
        blocks[block] = true;
    return Status::Success;
}

ReplayOperation makeReplay(const ExecState& exec, const StreamState& stream) {
    ReplayOperation replay{exec.id, exec.body, {}};
    for (const Node& node : exec.body->nodes) {
        if (const auto* record = std::get_if<RecordOperation>(&node.operation)) {
            auto marker = std::make_shared<Marker>(stream.timeline);
            std::lock_guard lock(record->event->mutex);
            record->event->marker = marker;
            record->event->captured = false;
            replay.markers.push_back(std::move(marker));
        } else if (const auto* wait = std::get_if<WaitMarkerOperation>(&node.operation)) {
            std::lock_guard lock(wait->event->mutex);
            replay.markers.push_back(wait->event->marker);
        }
    }
    return replay;
}

} // namespace

Status HostGraph::destroy() {
    ApiCall call({.api = GD_API_GRAPH_DESTROY, .device = m_state->device.get(), .graph = m_state->id});
    reportGraph(GD_RT_DESTROYED, m_state->id);
    const Status status = call.end(Status::Success);
    m_state.reset();
    return status;
}

Status HostGraph::instantiate(InstantiateFlags flags, std::shared_ptr<backend::Exec>& exec) {
    ApiCall call({.api = GD_API_GRAPH_INSTANTIATE_WITH_FLAGS,
        .device = m_state->device.get(),
        .graph = m_state->id,
        .mode = static_cast<std::uint32_t>(flags)});
    Status status = callAllowed(*m_state->device);
    if (ok(status))
        status = checkUnsafeCall(*m_state->device);
    if (!ok(status))
        return call.end(status);
    auto state = std::make_shared<ExecState>();
    state->id = nextObjectId();
    state->templateGraph = m_state->id;
    state->flags = flags;
    state->device = m_state->device;
    state->body = makeBody(*m_state);
    reportInstantiated(*state, *m_state);
    call.setExec(state->id);
    const Status result = call.end(Status::Success);
    exec = std::make_shared<HostExec>(std::move(state));
    return result;
}

NodeView HostGraph::node(std::size_t index) const {
    NodeView view;
    if (index >= m_state->nodes.size())
        return view;
    const Node& node = m_state->nodes[index];
    view.id = node.id;
    view.type = node.type;
    view.dependencies = node.dependencies;
    if (const auto* kernel = std::get_if<KernelOperation>(&node.operation)) {
        view.kernelName = kernel->kernel->name;
        view.parameters.assign(
            kernel->arguments.begin(), kernel->arguments.begin() + kernel->kernel->argumentBytes);
    }
    return view;
}

Status HostExec::launch(backend::Stream& target) {
    StreamState& stream = static_cast<HostStream&>(target).state();
    ApiCall call({.api = GD_API_GRAPH_LAUNCH,
        .device = m_state->device.get(),
        .stream = stream.id,
        .exec = m_state->id});
    const Status allowed = callAllowed(*m_state->device);
    if (!ok(allowed))
        return call.end(allowed);
    const Routing routing = routeUncapturable(stream);
    if (routing.route != Route::Run)
        return call.end(routing.status);
    std::lock_guard lock(m_state->mutex);
    const Status status = claimMemory(*m_state);
    if (ok(status)) {
        enqueueReplay(stream, *m_state, makeReplay(*m_state, stream), call.correlation());
    }
    return call.end(status);
}

Status HostExec::update(backend::Graph& target, UpdateResult* result) {
    const GraphState& graph = static_cast<HostGraph&>(target).state();
    ApiCall call({.api = GD_API_GRAPH_EXEC_UPDATE,
        .device = m_state->device.get(),
        .graph = graph.id,
        .exec = m_state->id});
    const Status allowed = callAllowed(*m_state->device);
    if (!ok(allowed))
        return call.end(allowed);
    std::lock_guard lock(m_state->mutex);
    const UpdateResult outcome = compare(m_state->body->nodes, graph.nodes);
    if (result != nullptr)
        *result = outcome;
    const Status status = outcome == UpdateResult::Success ? Status::Success : Status::GraphExecUpdateFailure;
    std::shared_ptr<const ExecBody> before;
    if (ok(status)) {
        before = m_state->body;
        m_state->body = makeBody(graph);
    }
    reportUpdated(*m_state, before.get(), graph.id, status, outcome);
    return call.end(status);
}

Status HostExec::destroy() {
    ApiCall call({.api = GD_API_GRAPH_EXEC_DESTROY, .device = m_state->device.get(), .exec = m_state->id});
    const Status status = checkUnsafeCall(*m_state->device);
    if (!ok(status))
        return call.end(status);
    reportExecDestroyed(*m_state);
    const Status result = call.end(Status::Success);
    m_state.reset();
    return result;
}

} // namespace gdt::runtime::host
