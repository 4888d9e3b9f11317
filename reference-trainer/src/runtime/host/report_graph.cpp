// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/report_detail.h"

#include <algorithm>
#include <cstddef>

namespace gdt::runtime::host {

namespace {

struct DescribeParameters {
    gd_rt_node_params& params;

    void operator()(const KernelOperation& kernel) const {
        static_assert(sizeof(gd_rt_param) == sizeof(ParameterField));
        params.function = kernel.kernel->name;
        setShape(params.grid, params.block, kernel.grid);
        params.shared_bytes = kernel.grid.sharedBytes;
        params.param_count = kernel.kernel->fieldCount;
        params.params = reinterpret_cast<const gd_rt_param*>(kernel.kernel->fields);
        params.param_data = kernel.arguments.data();
        params.param_data_bytes = kernel.kernel->argumentBytes;
    }
    void operator()(const CopyOperation& copy) const {
        params.dst = address(copy.destination);
        params.src = address(copy.source);
        params.bytes = copy.bytes;
        params.copy_kind = copyKind(copy.kind);
    }
    void operator()(const FillOperation& fill) const {
        params.dst = address(fill.destination);
        params.bytes = fill.bytes;
        params.value = static_cast<std::uint32_t>(fill.value) & 0xffU;
    }
    void operator()(const HostOperation&) const { }
    void operator()(const CommOperation& comm) const {
        const CommArguments& arguments = comm.call.arguments;
        params.function = commName(arguments.kind);
        params.dst = address(arguments.receive);
        params.src = address(arguments.send);
        params.bytes = arguments.messageBytes;
        params.comm_op = comm.id;
    }
    void operator()(const AllocOperation& alloc) const {
        params.dst = address(alloc.pointer);
        params.bytes = alloc.bytes;
    }
    void operator()(const ReleaseOperation& release) const { params.dst = address(release.pointer); }
    void operator()(const RecordOperation&) const { }
    void operator()(const WaitMarkerOperation&) const { }
    void operator()(const WaitPointOperation&) const { }
    void operator()(const ReplayOperation&) const { }
};

void reportParameters(
    const gd_rt_table& table, std::uint64_t node, NodeType type, const Operation& operation) {
    auto params = sized<gd_rt_node_params>();
    params.type = static_cast<std::uint32_t>(type);
    params.node = node;
    std::visit(DescribeParameters{params}, operation);
    table.node_params(&params);
}

void reportEdges(const gd_rt_table& table, std::uint64_t graph, std::uint64_t toNode,
    const std::vector<std::uint32_t>& dependencies) {
    auto edge = sized<gd_rt_edge>();
    edge.graph = graph;
    edge.to_node = toNode;
    for (const std::uint32_t from : dependencies) {
        edge.from_node = graph << 32 | from;
        table.edge(GD_RT_CREATED, &edge);
    }
}

// False also for what is not worth comparing: it is then reported again.
bool sameParameters(const Operation& a, const Operation& b) {
    if (const auto* left = std::get_if<KernelOperation>(&a)) {
        const auto* right = std::get_if<KernelOperation>(&b);
        return right != nullptr && left->kernel == right->kernel
            && std::equal(left->arguments.begin(), left->arguments.begin() + left->kernel->argumentBytes,
                right->arguments.begin())
            && left->grid == right->grid;
    }
    if (const auto* left = std::get_if<CopyOperation>(&a)) {
        const auto* right = std::get_if<CopyOperation>(&b);
        return right != nullptr && left->destination == right->destination && left->source == right->source
            && left->bytes == right->bytes;
    }
    if (const auto* left = std::get_if<FillOperation>(&a)) {
        const auto* right = std::get_if<FillOperation>(&b);
        return right != nullptr && left->destination == right->destination && left->value == right->value
            && left->bytes == right->bytes;
    }
    return false;
}

} // namespace

void reportGraph(gd_rt_life life, std::uint64_t graph) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_graph>();
    record.graph = graph;
    table->graph(life, &record);
}

void reportLaunch(const StreamState& stream, const KernelOperation& kernel) {
    const gd_rt_table* table = tool();
    if (table == nullptr || table->size < offsetof(gd_rt_table, launch) + sizeof(table->launch))
        return;
    auto params = sized<gd_rt_node_params>();
    params.type = GD_RT_NODE_KERNEL;
    DescribeParameters{params}(kernel);
    table->launch(&params, stream.id);
}

void reportNode(const GraphState& graph, const Node& node) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_node>();
    record.type = static_cast<std::uint32_t>(node.type);
    record.graph = graph.id;
    record.node = node.id;
    record.stream = node.stream;
    table->node(GD_RT_CREATED, &record);
    reportEdges(*table, graph.id, node.id, node.dependencies);
    reportParameters(*table, node.id, node.type, node.operation);
}

void reportInstantiated(const ExecState& exec, const GraphState& graph) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    // The executable comes first: its id in the node records is how a tool tells them from a graph's.
    auto created = sized<gd_rt_exec>();
    created.flags = static_cast<std::uint32_t>(exec.flags);
    created.exec = exec.id;
    created.graph = graph.id;
    table->exec(GD_RT_CREATED, &created);
    auto record = sized<gd_rt_node>();
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        record.type = static_cast<std::uint32_t>(graph.nodes[i].type);
        record.graph = exec.id;
        record.node = exec.id << 32 | i;
        record.origin_node = graph.nodes[i].id;
        record.stream = graph.nodes[i].stream;
        table->node(GD_RT_CLONED, &record);
    }
}

void reportUpdated(
    const ExecState& exec, const ExecBody* before, std::uint64_t graph, Status status, UpdateResult result) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    if (before != nullptr) {
        for (std::size_t i = 0; i < exec.body->nodes.size(); ++i) {
            const Node& node = exec.body->nodes[i];
            if (!sameParameters(before->nodes[i].operation, node.operation))
                reportParameters(*table, exec.id << 32 | i, node.type, node.operation);
        }
    }
    auto record = sized<gd_rt_exec>();
    record.flags = static_cast<std::uint32_t>(exec.flags);
    record.exec = exec.id;
    record.graph = graph;
    record.result = static_cast<std::int32_t>(status);
    record.update_result = static_cast<std::uint32_t>(result);
    table->exec(GD_RT_UPDATED, &record);
}

void reportExecDestroyed(const ExecState& exec) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_exec>();
    record.exec = exec.id;
    record.graph = exec.templateGraph;
    table->exec(GD_RT_DESTROYED, &record);
}

} // namespace gdt::runtime::host
