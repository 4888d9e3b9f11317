// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/report_to_tool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace gdt::runtime::host {

std::atomic<const gd_rt_table*> g_tool{nullptr};

namespace {

constexpr const char* kRuntimeName = "GraphDoctor host runtime";

std::uint64_t nextCorrelation() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

std::uint32_t ordinal(const DeviceState& device) {
    return static_cast<std::uint32_t>(device.options.ordinal);
}

std::uint32_t copyKind(CopyKind kind) {
    switch (kind) {
    case CopyKind::HostToDevice:
        return GD_RT_COPY_HTOD;
    case CopyKind::DeviceToHost:
        return GD_RT_COPY_DTOH;
    case CopyKind::DeviceToDevice:
        return GD_RT_COPY_DTOD;
    case CopyKind::HostToHost:
        break;
    }
    return GD_RT_COPY_HTOH;
}

const char* commName(std::uint32_t kind) {
    static constexpr const char* kNames[]
        = {"", "AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "Send", "Recv", "AllToAll"};
    return kind < std::size(kNames) ? kNames[kind] : "";
}

template <class Record> Record sized() {
    Record record{};
    record.size = sizeof(Record);
    return record;
}

void setShape(std::uint32_t (&grid)[3], std::uint32_t (&block)[3], const Grid& shape) {
    grid[0] = shape.gridX;
    grid[1] = shape.gridY;
    grid[2] = shape.gridZ;
    block[0] = shape.blockX;
    block[1] = shape.blockY;
    block[2] = shape.blockZ;
}

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

struct DescribeActivity {
    gd_rt_activity& activity;

    void operator()(const KernelOperation& kernel) const {
        activity.kind = GD_RT_ACTIVITY_KERNEL;
        activity.function = kernel.kernel->name;
        setShape(activity.grid, activity.block, kernel.grid);
        activity.shared_bytes = kernel.grid.sharedBytes;
    }
    void operator()(const CopyOperation& copy) const {
        activity.kind = GD_RT_ACTIVITY_MEMCPY;
        activity.copy_kind = copyKind(copy.kind);
        activity.bytes = copy.bytes;
    }
    void operator()(const FillOperation& fill) const {
        activity.kind = GD_RT_ACTIVITY_MEMSET;
        activity.bytes = fill.bytes;
    }
    void operator()(const HostOperation&) const { activity.kind = GD_RT_ACTIVITY_HOST_FUNC; }
    void operator()(const CommOperation& comm) const {
        activity.kind = GD_RT_ACTIVITY_COMM;
        activity.function = commName(comm.call.arguments.kind);
        activity.bytes = comm.call.arguments.messageBytes;
    }
    void operator()(const AllocOperation&) const { }
    void operator()(const ReleaseOperation&) const { }
    void operator()(const RecordOperation&) const { }
    void operator()(const WaitMarkerOperation&) const { }
    void operator()(const WaitPointOperation&) const { }
    void operator()(const ReplayOperation&) const { }
};

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
    return false;
}

} // namespace

void attachTool() {
    static std::mutex mutex;
    static pid_t attachedFor = 0;
    std::lock_guard lock(mutex);
    if (attachedFor == getpid())
        return;
    attachedFor = getpid();
    g_tool.store(gd_rt_attach(GD_RT_VERSION, kRuntimeName, CLOCK_MONOTONIC), std::memory_order_release);
}

void setTool(const gd_rt_table* table) {
    g_tool.store(table, std::memory_order_release);
}

void ApiCall::enter(const CallInfo& info) {
    m_record.size = sizeof(m_record);
    m_record.api = info.api;
    m_record.correlation = nextCorrelation();
    m_record.device = info.device != nullptr ? ordinal(*info.device) : 0;
    m_record.mode = info.mode;
    m_record.stream = info.stream;
    m_record.event = info.event;
    m_record.graph = info.graph;
    m_record.exec = info.exec;
    m_record.ptr = address(info.pointer);
    m_record.bytes = info.bytes;
    tool()->api_enter(&m_record);
}

void ApiCall::exit(Status status) {
    if (const gd_rt_table* table = tool())
        table->api_exit(&m_record, static_cast<std::int32_t>(status));
    m_record.size = 0;
}

void reportDevice(const DeviceState& device, std::uint64_t wakeupP99Ns) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_device>();
    record.device = ordinal(device);
    record.name = "host threads";
    record.memory_bytes = device.arena->totalBytes();
    record.workers = static_cast<std::uint32_t>(std::max(device.options.hostWorkers, 1));
    record.wakeup_p99_ns = wakeupP99Ns;
    table->device(&record);
}

void reportContext(gd_rt_life life, const DeviceState& device) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_object>();
    record.device = ordinal(device);
    record.id = device.contextId;
    record.context = device.contextId;
    table->context(life, &record);
}

void reportStream(gd_rt_life life, const StreamState& stream) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_object>();
    record.device = ordinal(*stream.device);
    record.id = stream.id;
    record.context = stream.device->contextId;
    record.flags = stream.nonBlocking ? 1U : 0U;
    table->stream(life, &record);
}

void reportEvent(gd_rt_life life, const EventState& event) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_object>();
    record.device = ordinal(*event.device);
    record.id = event.id;
    record.context = event.device->contextId;
    record.flags = static_cast<std::uint32_t>(event.flags);
    table->event(life, &record);
}

void reportGraph(gd_rt_life life, std::uint64_t graph) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_graph>();
    record.graph = graph;
    table->graph(life, &record);
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

void reportMemory(const MemoryReport& memory, bool freed) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_memory>();
    record.kind = memory.kind;
    record.device = ordinal(memory.device);
    record.ptr = address(memory.pointer);
    record.bytes = memory.bytes;
    record.stream = memory.stream;
    record.pool = memory.pool;
    if (freed)
        table->free(&record);
    else
        table->alloc(&record);
}

std::uint64_t nextCommOp() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void reportCommOp(const StreamState& stream, const CommOperation& operation) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    const CommArguments& arguments = operation.call.arguments;
    auto record = sized<gd_rt_comm_op>();
    record.kind = arguments.kind;
    record.op = operation.id;
    record.hash = operation.call.endpoint->commHash();
    record.count = arguments.count;
    record.dtype = arguments.dataType;
    record.peer = arguments.root;
    record.stream = stream.id;
    record.captured = operation.captured ? 1U : 0U;
    record.nranks = operation.call.endpoint->commRanks();
    table->comm_op(&record);
}

void reportComm(gd_rt_life life, std::uint64_t hash, int ranks, int rank) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_comm>();
    record.nranks = static_cast<std::uint32_t>(ranks);
    record.rank = static_cast<std::uint32_t>(rank);
    record.hash = hash;
    table->comm(life, &record);
}

void reportSync(
    const DeviceState& device, std::uint64_t stream, std::uint64_t correlation, std::int64_t startNs) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_activity>();
    record.kind = GD_RT_ACTIVITY_SYNC;
    record.start_ns = startNs;
    record.end_ns = nowNs();
    record.correlation = correlation;
    record.stream = stream;
    record.device = ordinal(device);
    table->activity(&record);
}

void reportReplay(const StreamState& stream, std::uint64_t exec, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs) {
    auto record = sized<gd_rt_activity>();
    record.kind = GD_RT_ACTIVITY_GRAPH;
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.correlation = correlation;
    record.stream = stream.id;
    record.exec = exec;
    record.device = ordinal(*stream.device);
    if (const gd_rt_table* table = tool())
        table->activity(&record);
}

void reportActivity(const StreamState& stream, const Operation& operation, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs, std::uint64_t exec, std::uint64_t node) {
    auto record = sized<gd_rt_activity>();
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.correlation = correlation;
    record.stream = stream.id;
    record.exec = exec;
    record.node = node;
    record.device = ordinal(*stream.device);
    std::visit(DescribeActivity{record}, operation);
    if (const gd_rt_table* table = tool())
        table->activity(&record);
}

std::uint64_t measureWakeupP99Ns() {
    constexpr std::size_t kRounds = 200;
    std::mutex mutex;
    std::condition_variable wake;
    std::int64_t sentNs = 0; // not 0: the sleeper is to wake up
    std::vector<std::uint64_t> delays;
    delays.reserve(kRounds);
    std::thread sleeper([&] {
        std::unique_lock lock(mutex);
        while (delays.size() < kRounds) {
            wake.wait(lock, [&] { return sentNs != 0; });
            delays.push_back(static_cast<std::uint64_t>(nowNs() - sentNs));
            sentNs = 0;
            wake.notify_all();
        }
    });
    {
        std::unique_lock lock(mutex);
        for (std::size_t round = 0; round < kRounds; ++round) {
            sentNs = nowNs();
            wake.notify_all();
            wake.wait(lock, [&] { return sentNs == 0; });
        }
    }
    sleeper.join();
    std::sort(delays.begin(), delays.end());
    return delays[kRounds * 99 / 100];
}

} // namespace gdt::runtime::host
