// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace gd::facts {
namespace {

// One operation that ran instead of being captured.
struct Leak {
    const Capture* capture = nullptr;
    std::string kind;
    std::string name;
    std::int64_t streamId = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int32_t threadId = 0;
    std::int64_t stackId = 0;
    std::int64_t bytes = 0;
    std::int64_t correlation = 0;
    std::int64_t commHash = 0;
    const DeviceOp* op = nullptr; // what the device recorded of it
};

std::int64_t windowEnd(const ProcessData& process, const Capture& capture) {
    return capture.endStartNs.value_or(process.endNs);
}

// Streams that capture, with the time from which they do.
class Members {
public:
    explicit Members(const ProcessData& process) {
        for (const Capture& capture : process.captures) {
            const std::int64_t endNs = windowEnd(process, capture);
            m_spans[capture.streamId].push_back({capture.startNs, endNs});
            for (const CaptureJoin& join : capture.joins)
                m_spans[join.streamId].push_back({join.timeNs, endNs});
        }
    }
    bool captures(std::int64_t streamId, std::int64_t timeNs) const {
        const auto found = m_spans.find(streamId);
        return found != m_spans.end()
            && std::any_of(found->second.begin(), found->second.end(),
                [&](const Interval& span) { return span.startNs <= timeNs && timeNs <= span.endNs; });
    }

private:
    std::unordered_map<std::int64_t, std::vector<Interval>> m_spans;
};

class LeakFinder {
public:
    LeakFinder(const RawData& raw, const ProcessData& process)
        : m_raw(raw)
        , m_process(process)
        , m_members(process) { }

    std::vector<Leak> find() {
        for (const Capture& capture : m_process.captures) {
            std::set<std::int32_t> threads{capture.beginThreadId};
            for (const std::int32_t index : capture.nodes)
                threads.insert(m_process.nodes[static_cast<std::size_t>(index)].threadId);
            threads.erase(0);
            for (const std::int32_t thread : threads)
                addCalls(capture, thread);
            addCollectives(capture, threads);
        }
        linkDeviceWork();
        dropCapturedAndDoubles();
        return std::move(m_leaks);
    }

    // The same operation ran outside any capture before this one began.
    bool inWarmup(const Leak& leak) const {
        const auto found = m_firstEager.find(key(leak));
        return found != m_firstEager.end() && found->second < leak.capture->startNs;
    }

private:
    using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
    static Key key(const Leak& leak) {
        return {leak.kind, leak.name, leak.kind == "kernel" ? 0 : leak.bytes, leak.commHash};
    }

    void addCalls(const Capture& capture, std::int32_t thread) {
        const std::int64_t endNs = windowEnd(m_process, capture);
        m_process.eachCall(thread, capture.startNs, endNs, [&](const ApiCall& call) {
            const bool launches = call.apiClass == ApiClass::launch;
            const bool copies = call.apiClass == ApiClass::copy || call.apiClass == ApiClass::copySync;
            if ((!launches && !copies) || call.result != 0 || call.startNs < capture.startNs
                || call.startNs >= endNs)
                return;
            const bool blocking = call.apiClass == ApiClass::copySync;
            const std::int64_t stream = call.streamId == 0 && blocking ? 1 : call.streamId;
            if (stream == 0 || m_members.captures(stream, call.startNs)
                || (copies && isNewMemory(static_cast<std::uint64_t>(call.objectId), capture, call.startNs)))
                return;
            Leak& leak = m_leaks.emplace_back();
            leak.capture = &capture;
            const bool fills = call.known == KnownCall::fill;
            leak.kind = launches ? "kernel" : fills ? "memset" : "memcpy";
            leak.name = m_raw.apiName(call.apiId);
            leak.streamId = stream;
            leak.startNs = call.startNs;
            leak.endNs = call.endNs;
            leak.threadId = call.threadId;
            leak.stackId = call.stackId;
            leak.bytes = call.bytes;
            leak.correlation = call.correlation;
        });
    }

    // Memory that was allocated since the capture began: what is written there first is its initial value,
    // not work of every iteration.
    bool isNewMemory(std::uint64_t address, const Capture& capture, std::int64_t timeNs) const {
        return std::any_of(
            m_process.allocations.rbegin(), m_process.allocations.rend(), [&](const Allocation& memory) {
                return memory.allocNs >= capture.startNs && memory.allocNs <= timeNs
                    && address >= memory.address
                    && address - memory.address < static_cast<std::uint64_t>(memory.bytes);
            });
    }

    // With one rank NCCL launches nothing, or a copy, which is seen as such.
    bool isAlone(const CommOp& op) const {
        return std::any_of(m_process.comms.begin(), m_process.comms.end(),
            [&](const Comm& comm) { return comm.commHash == op.commHash && comm.nranks == 1; });
    }

    void addCollectives(const Capture& capture, const std::set<std::int32_t>& threads) {
        const std::int64_t endNs = windowEnd(m_process, capture);
        auto op = std::lower_bound(m_process.commOps.begin(), m_process.commOps.end(), capture.startNs,
            [](const CommOp& left, std::int64_t time) { return left.timeNs < time; });
        for (; op != m_process.commOps.end() && op->timeNs < endNs; ++op) {
            if (op->captureId != 0 || !threads.contains(op->threadId) || isAlone(*op)
                || (op->streamId != 0 && m_members.captures(op->streamId, op->timeNs)))
                continue;
            Leak& leak = m_leaks.emplace_back();
            leak.capture = &capture;
            leak.kind = "comm";
            leak.name = op->kind;
            leak.streamId = op->streamId;
            leak.startNs = leak.endNs = op->timeNs;
            leak.threadId = op->threadId;
            leak.stackId = op->stackId;
            leak.bytes = op->messageBytes;
            leak.commHash = op->commHash;
        }
    }

    static std::string_view kindOf(const DeviceOp& op) {
        return op.kind == DeviceOp::Kind::kernel ? "kernel"
            : op.kind == DeviceOp::Kind::copy    ? "memcpy"
                                                 : "memset";
    }

    // Names from the device's records, and when each operation first ran outside graphs.
    void linkDeviceWork() {
        std::unordered_map<std::int64_t, std::vector<Leak*>> byCorrelation;
        for (Leak& leak : m_leaks) {
            if (leak.correlation != 0)
                byCorrelation[leak.correlation].push_back(&leak);
        }
        if (m_leaks.empty())
            return;
        std::unordered_map<std::int64_t, std::string> copyNames;
        for (const DeviceOp& op : m_process.ops) {
            if (const auto found = byCorrelation.find(op.correlation); found != byCorrelation.end()) {
                for (Leak* leak : found->second) {
                    leak->op = &op;
                    if (op.kind == DeviceOp::Kind::kernel)
                        leak->name = m_raw.shapeName(op.shapeId);
                    else
                        leak->bytes = op.bytes;
                }
            }
        }
        std::set<Key> wanted;
        for (const Leak& leak : m_leaks)
            wanted.insert(key(leak));
        // Copies are recognised by size: the call's name stands for all of its kind.
        std::unordered_map<std::int32_t, bool> shapeWanted;
        for (const DeviceOp& op : m_process.ops) {
            if (op.inGraph)
                continue;
            if (op.kind == DeviceOp::Kind::kernel) {
                const auto [entry, isNew] = shapeWanted.try_emplace(op.shapeId);
                if (isNew)
                    entry->second = wanted.contains(
                        {"kernel", std::string(m_raw.shapeName(op.shapeId)), 0, std::int64_t{0}});
                if (entry->second)
                    m_firstEager.try_emplace(
                        Key{"kernel", std::string(m_raw.shapeName(op.shapeId)), 0, 0}, op.startNs);
                continue;
            }
            for (const Key& one : wanted) {
                if (std::get<0>(one) == kindOf(op) && std::get<2>(one) == op.bytes)
                    m_firstEager.try_emplace(one, op.startNs);
            }
        }
        for (const CommOp& op : m_process.commOps) {
            if (op.captureId == 0)
                m_firstEager.try_emplace(Key{"comm", op.kind, op.messageBytes, op.commHash}, op.timeNs);
        }
        addLaunchesWithoutRecords(wanted);
    }

    // Where the device's records are missing, a launch call of the same kind before the capture has to do.
    void addLaunchesWithoutRecords(const std::set<Key>& wanted) {
        for (const Key& one : wanted) {
            if (std::get<0>(one) == "comm" || m_firstEager.contains(one))
                continue;
            for (const ApiCall& call : m_process.calls) {
                if (call.result == 0 && m_raw.apiName(call.apiId) == std::get<1>(one)
                    && (std::get<0>(one) == "kernel" || call.bytes == std::get<2>(one))) {
                    const auto [entry, isNew] = m_firstEager.try_emplace(one, call.startNs);
                    entry->second = std::min(entry->second, call.startNs);
                }
            }
        }
    }

    // A launch whose device record carries a node was captured after all, and a collective's own kernel is
    // the collective.
    void dropCapturedAndDoubles() {
        std::set<const Capture*> withCollectives;
        for (const Leak& leak : m_leaks) {
            if (leak.kind == "comm")
                withCollectives.insert(leak.capture);
        }
        std::erase_if(m_leaks, [&](const Leak& leak) {
            return leak.op != nullptr
                && (leak.op->inGraph || (leak.op->isComm && withCollectives.contains(leak.capture)));
        });
    }

    const RawData& m_raw;
    const ProcessData& m_process;
    Members m_members;
    std::vector<Leak> m_leaks;
    std::map<Key, std::int64_t> m_firstEager;
};

std::int64_t replaysOf(const ProcessData& process, const Capture& capture) {
    std::int64_t count = 0;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph != nullptr && capture.graphId != 0
            && (graph->captureId == capture.captureId || graph->graphId == capture.graphId))
            count += static_cast<std::int64_t>(exec.replays.size());
    }
    return count;
}

// Captures over which nobody looked at launches: nothing seen in them says nothing.
Result<void> writeUnknown(const ProcessData& process, Statement& insert) {
    for (const Capture& capture : process.captures) {
        const std::int64_t endNs = windowEnd(process, capture);
        if (process.covered("launch_callbacks", capture.startNs, endNs) != CoverageState::absent)
            continue;
        GD_TRY(insert.runWith(process.processId, capture.captureId, "kernel", "", nullptr, capture.startNs,
            endNs, capture.beginThreadId, nullptr, process.stepNumberAt(capture.startNs), nullptr, 0, 0,
            replaysOf(process, capture), 0));
    }
    return {};
}

} // namespace

Result<void> buildCaptureLeak(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO capture_leak VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        if (process.captures.empty())
            continue;
        LeakFinder finder(context.raw, process);
        const std::vector<Leak> leaks = finder.find();
        struct Sum {
            const Leak* first = nullptr;
            std::int64_t count = 0;
        };
        std::map<std::tuple<std::int64_t, std::string, std::string, std::int64_t>, Sum> sums;
        for (const Leak& leak : leaks) {
            Sum& sum = sums[{leak.capture->captureId, leak.kind, leak.name, leak.streamId}];
            ++sum.count;
            if (sum.first == nullptr || leak.startNs < sum.first->startNs)
                sum.first = &leak;
        }
        for (const auto& [key, sum] : sums) {
            const Leak& leak = *sum.first;
            // Where the oldest events were dropped, so may have been those of its warm-up.
            GD_TRY(insert.runWith(process.processId, leak.capture->captureId, leak.kind, leak.name,
                orNull(leak.streamId), leak.startNs, leak.endNs, leak.threadId, orNull(leak.stackId),
                process.stepNumberAt(leak.startNs), orNull(leak.bytes), finder.inWarmup(leak), sum.count,
                replaysOf(process, *leak.capture), finder.inWarmup(leak) || !process.eventsFromNs));
        }
        GD_TRY(writeUnknown(process, insert));
    }
    return {};
}

} // namespace gd::facts
