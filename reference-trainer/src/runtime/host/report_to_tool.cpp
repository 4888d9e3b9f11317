// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/report_to_tool.h"

#include "runtime/host/report_detail.h"
#include "runtime/version.h"

#include <algorithm>
#include <mutex>
#include <unistd.h>

namespace gdt::runtime::host {

std::atomic<const gd_rt_table*> g_tool{nullptr};

namespace {

constexpr const char* kRuntimeName = "GraphDoctor host runtime";

std::uint64_t nextCorrelation() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

void attachTool() {
    static std::mutex mutex;
    static pid_t attachedFor = 0;
    std::lock_guard lock(mutex);
    if (attachedFor == getpid())
        return;
    attachedFor = getpid();
    const std::string name
        = std::string(kRuntimeName) + ", rules of CUDA " + versionText(versions(Backend::Host).runtime);
    g_tool.store(gd_rt_attach(GD_RT_VERSION, name.c_str(), CLOCK_MONOTONIC), std::memory_order_release);
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

} // namespace gdt::runtime::host
