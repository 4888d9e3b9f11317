// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"
#include "runtime/host/states.h"

#include <atomic>

// Everything that a tool hears of this runtime goes through here. Without a tool each function is one
// predictable branch. Nothing here takes a lock that two threads share.
namespace gdt::runtime::host {

extern std::atomic<const gd_rt_table*> g_tool;

[[nodiscard]] inline const gd_rt_table* tool() {
    return g_tool.load(std::memory_order_relaxed);
}

/// Asks for the tool's table once per process, and again in a forked child.
void attachTool();
/// Installs a table instead, or none; for tests.
void setTool(const gd_rt_table* table);

/// What a call is about, for ApiCall. Ids are 0 where they do not apply.
struct CallInfo {
    std::uint32_t api = 0;
    const DeviceState* device = nullptr;
    std::uint64_t stream = 0;
    std::uint64_t event = 0;
    std::uint64_t graph = 0;
    std::uint64_t exec = 0;
    const void* pointer = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t mode = 0;
};

/// Brackets one API call: enter in the constructor, exit in end().
class ApiCall {
public:
    explicit ApiCall(const CallInfo& info) {
        if (tool() != nullptr) [[unlikely]]
            enter(info);
    }
    ApiCall(const ApiCall&) = delete;
    ApiCall& operator=(const ApiCall&) = delete;

    /// Reports the result and returns it.
    Status end(Status status) {
        if (m_record.size != 0) [[unlikely]]
            exit(status);
        return status;
    }
    /// Facts known only now; call before end().
    void setPointer(const void* pointer) { m_record.ptr = reinterpret_cast<std::uint64_t>(pointer); }
    void setGraph(std::uint64_t graph) { m_record.graph = graph; }
    void setExec(std::uint64_t exec) { m_record.exec = exec; }
    void setObject(std::uint64_t stream, std::uint64_t event) {
        m_record.stream = stream;
        m_record.event = event;
    }

    /// Links device work to this call; 0 without a tool.
    [[nodiscard]] std::uint64_t correlation() const { return m_record.correlation; }

private:
    void enter(const CallInfo& info);
    void exit(Status status);

    gd_rt_api m_record{};
};

void reportDevice(const DeviceState& device, std::uint64_t wakeupP99Ns);
void reportContext(gd_rt_life life, const DeviceState& device);
void reportStream(gd_rt_life life, const StreamState& stream);
void reportEvent(gd_rt_life life, const EventState& event);
void reportGraph(gd_rt_life life, std::uint64_t graph);
/// A kernel that is enqueued to run at once.
void reportLaunch(const StreamState& stream, const KernelOperation& kernel);
/// A captured node with its edges and parameters.
void reportNode(const GraphState& graph, const Node& node);
/// A new executable, then its nodes with their origins; edges are those of the origins.
void reportInstantiated(const ExecState& exec, const GraphState& graph);
/// After an update, also a refused one. `before` is the body that `exec.body` replaced, null when refused.
void reportUpdated(
    const ExecState& exec, const ExecBody* before, std::uint64_t graph, Status status, UpdateResult result);
void reportExecDestroyed(const ExecState& exec);
/// What an allocation or release is about.
struct MemoryReport {
    gd_rt_memory_kind kind;
    const DeviceState& device;
    const void* pointer = nullptr;
    std::size_t bytes = 0;
    std::uint64_t stream = 0;
    std::uint64_t pool = 0;
};
void reportMemory(const MemoryReport& memory, bool freed);
inline void reportAlloc(const MemoryReport& memory) {
    reportMemory(memory, false);
}
inline void reportFree(const MemoryReport& memory) {
    reportMemory(memory, true);
}
/// Never 0, unique in the process.
[[nodiscard]] std::uint64_t nextCommOp();
void reportCommOp(const StreamState& stream, const CommOperation& operation);

void reportComm(gd_rt_life life, std::uint64_t hash, int ranks, int rank);

/// A blocking call's wait.
void reportSync(
    const DeviceState& device, std::uint64_t stream, std::uint64_t correlation, std::int64_t startNs);
/// Whether activity is to be timed; false without a tool.
[[nodiscard]] inline bool activityWanted() {
    const gd_rt_table* table = tool();
    return table != nullptr && table->activity_wanted() != 0;
}
/// Whether every node of a replay is to be timed too.
[[nodiscard]] inline bool nodeActivityWanted() {
    return (tool()->activity_wanted() & 2U) != 0;
}
/// One replay, from its first node's start to its last node's end.
void reportReplay(const StreamState& stream, std::uint64_t exec, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs);
/// One operation that ran between the two times. `exec` and `node` are 0 for work outside a replay.
void reportActivity(const StreamState& stream, const Operation& operation, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs, std::uint64_t exec, std::uint64_t node);

/// p99 of the time an idle thread takes from notify to running, over 200 rounds or as many as fit in 100 ms.
[[nodiscard]] std::uint64_t measureWakeupP99Ns();

} // namespace gdt::runtime::host
