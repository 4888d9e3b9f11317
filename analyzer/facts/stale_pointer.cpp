// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/block_index.h"
#include "analyzer/facts/node_place.h"
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace gd::facts {
namespace {

// A word of a graph's node that points into memory which was freed at some time: by the driver, or by a
// framework into its own cache.
struct Pointer {
    std::int64_t nodeId = 0;
    std::optional<std::int64_t> param;
    std::string role;
    std::uint64_t address = 0;
    std::int64_t allocationId = 0; // what the driver handed out
    const Allocation* allocation = nullptr; // what lost its owner: that, or the framework's block inside it
};

using PointersByProcess = std::unordered_map<std::int64_t, std::vector<Pointer>>;

Result<PointersByProcess> readPointers(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT p.process_id, p.node_id, p.param, p.role, p.address, p.allocation_id "
                   "FROM allocation AS a CROSS JOIN node_pointer AS p "
                   "ON p.process_id = a.process_id AND p.allocation_id = a.allocation_id "
                   "WHERE a.free_ns IS NOT NULL OR p.process_id IN "
                   "(SELECT process_id FROM allocation WHERE kind = 'framework') "
                   "ORDER BY p.process_id, p.node_id, p.rowid"));
    PointersByProcess pointers;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return pointers;
        pointers[select.int64(0)].push_back({select.int64(1), select.optionalInt64(2),
            std::string(select.text(3)), static_cast<std::uint64_t>(select.int64(4)), select.int64(5)});
    }
}

// From a time on, an executable runs with the parameters of this graph; 0 = not known any more.
struct Parameters {
    std::int64_t fromNs = 0;
    std::int64_t graphId = 0;
};
using ParametersByExec = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Parameters>>;

Result<ParametersByExec> readUpdates(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT process_id, exec_id, end_ns, graph_id FROM exec_update WHERE result = 0 ORDER BY "
                   "end_ns"));
    ParametersByExec updates;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return updates;
        updates[{select.int64(0), select.int64(1)}].push_back({select.int64(2), select.int64(3)});
    }
}

struct Stale {
    const Exec* exec = nullptr;
    const Allocation* allocation = nullptr;
    const Pointer* pointer = nullptr;
    const Allocation* owner = nullptr;
    std::set<std::int64_t> nodes;
    const Replay* first = nullptr;
    const Replay* last = nullptr;
    std::int64_t replays = 0;
    std::int64_t fromNs = 0; // when the pointer became stale
};

class StaleFinder {
public:
    StaleFinder(const ProcessData& process, std::vector<Pointer>& pointers, const ParametersByExec& updates)
        : m_process(process)
        , m_updates(updates) {
        for (const Allocation& allocation : process.allocations)
            m_allocations.emplace(allocation.allocationId, &allocation);
        findOwners(pointers);
        for (const Pointer& pointer : pointers) {
            const Node* node = process.node(pointer.nodeId);
            if (node != nullptr && pointer.allocation != nullptr && pointer.allocation->freeNs)
                m_byGraph[node->graphId].push_back(&pointer);
        }
        findNodeChanges();
    }

    // How sure it is that the memory is gone: what only the framework freed is still mapped.
    std::string_view confidenceOf(const Stale& stale) const {
        if (stale.allocation->kind != "framework" || stale.last == nullptr)
            return "high";
        return isUnmapped(stale) ? "high" : "medium";
    }

    std::vector<Stale> find() const {
        std::vector<Stale> result;
        for (const Exec& exec : m_process.execs)
            addExec(exec, result);
        findNewOwners(result);
        std::erase_if(result, [this](const Stale& stale) { return !isHit(stale); });
        return result;
    }

private:
    // When the driver took back what a framework's block lay in.
    std::optional<std::int64_t> unmappedNs(const Pointer& pointer) const {
        const auto driver = m_allocations.find(pointer.allocationId);
        if (driver == m_allocations.end() || driver->second->kind == "framework")
            return std::nullopt;
        return driver->second->freeNs;
    }

    bool isUnmapped(const Stale& stale) const {
        const std::optional<std::int64_t> ns = unmappedNs(*stale.pointer);
        return ns && stale.last != nullptr && *ns <= stale.last->launchStartNs;
    }

    // A framework lets go of a block long before the driver hears of it, if ever: where a block is known, it
    // counts.
    void findOwners(std::vector<Pointer>& pointers) const {
        std::vector<BlockQuery> queries(pointers.size());
        std::vector<BlockQuery*> asked;
        for (std::size_t i = 0; i < pointers.size(); ++i) {
            const auto found = m_allocations.find(pointers[i].allocationId);
            pointers[i].allocation = found == m_allocations.end() ? nullptr : found->second;
            if (const Node* node = m_process.node(pointers[i].nodeId)) {
                queries[i] = {pointers[i].address, node->createdNs, nullptr};
                asked.push_back(&queries[i]);
            }
        }
        blocksAt(m_process.allocations, std::move(asked));
        for (std::size_t i = 0; i < pointers.size(); ++i) {
            if (queries[i].block != nullptr && queries[i].block->freeNs)
                pointers[i].allocation = queries[i].block;
        }
    }

    void addExec(const Exec& exec, std::vector<Stale>& result) const {
        std::vector<Parameters> spans{{exec.createdStartNs, exec.graphId}};
        const auto updates = m_updates.find({m_process.processId, exec.execId});
        if (updates != m_updates.end())
            spans.insert(spans.end(), updates->second.begin(), updates->second.end());
        std::map<std::int64_t, Stale> byAllocation;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            const std::int64_t untilNs = i + 1 < spans.size() ? spans[i + 1].fromNs : nodesChangedNs(exec);
            for (const Pointer* pointer : pointersOf(spans[i].graphId))
                addPointer(exec, *pointer, spans[i].fromNs, untilNs, byAllocation);
        }
        for (auto& [allocation, stale] : byAllocation)
            result.push_back(std::move(stale));
    }

    // From the first change of single nodes on, it is not known where the executable points.
    std::int64_t nodesChangedNs(const Exec& exec) const {
        const auto found = m_nodesChangedNs.find(exec.execId);
        return found == m_nodesChangedNs.end() ? m_process.endNs + 1 : found->second;
    }

    void findNodeChanges() {
        for (const ApiCall& call : m_process.calls) {
            if (call.known != KnownCall::execNodeParams || call.result != 0)
                continue;
            const auto [entry, isNew] = m_nodesChangedNs.try_emplace(call.objectId, call.startNs);
            entry->second = std::min(entry->second, call.startNs);
        }
    }

    // Of the graph itself, or of the original that it is a clone of.
    const std::vector<const Pointer*>& pointersOf(std::int64_t graphId) const {
        static const std::vector<const Pointer*> kNone;
        for (int depth = 0; depth < 16 && graphId != 0; ++depth) {
            if (const auto found = m_byGraph.find(graphId); found != m_byGraph.end())
                return found->second;
            const Graph* graph = m_process.graph(graphId);
            graphId = graph == nullptr ? 0 : graph->originGraphId;
        }
        return kNone;
    }

    void addPointer(const Exec& exec, const Pointer& pointer, std::int64_t fromNs, std::int64_t untilNs,
        std::map<std::int64_t, Stale>& byAllocation) const {
        const Allocation& allocation = *pointer.allocation;
        // Alive for one replay at most: a graph's own allocation nodes, and blocks that were freed while
        // capturing.
        if (allocation.kind == "graph" || freedInCapture(allocation, pointer))
            return;
        // A block of a graph's pool, or of a pool that is not known, stays the graph's until the driver has
        // it.
        std::int64_t goneNs = *allocation.freeNs;
        if (allocation.kind == "framework" && allocation.poolId != 0)
            goneNs = std::max(goneNs, unmappedNs(pointer).value_or(goneNs));
        const std::int64_t staleNs = std::max(fromNs, goneNs);
        const std::int64_t lastNs = std::min(untilNs, exec.destroyedNs.value_or(m_process.endNs));
        if (lastNs > staleNs && !m_process.complete("callbacks", staleNs, lastNs)) {
            const Stale unseen{&exec, &allocation, &pointer, nullptr, {}, nullptr, nullptr, 0, staleNs};
            byAllocation.try_emplace(allocation.allocationId, unseen);
        }
        auto index = std::upper_bound(
            exec.replays.begin(), exec.replays.end(), staleNs, [&](std::int64_t time, std::int32_t replay) {
                return time < m_process.replays[static_cast<std::size_t>(replay)].launchStartNs;
            });
        for (; index != exec.replays.end(); ++index) {
            const Replay& replay = m_process.replays[static_cast<std::size_t>(*index)];
            if (replay.launchStartNs >= untilNs)
                break;
            Stale& stale = byAllocation[allocation.allocationId];
            if (stale.first == nullptr) {
                stale.exec = &exec;
                stale.allocation = &allocation;
                stale.pointer = &pointer;
                stale.first = &replay;
                stale.fromNs = staleNs;
            }
            if (&pointer == stale.pointer) {
                ++stale.replays;
                stale.last = &replay;
            }
        }
        if (const auto stale = byAllocation.find(allocation.allocationId); stale != byAllocation.end())
            stale->second.nodes.insert(pointer.nodeId);
    }

    bool freedInCapture(const Allocation& allocation, const Pointer& pointer) const {
        const Node* node = m_process.node(pointer.nodeId);
        const Capture* capture = node == nullptr ? nullptr : m_process.capture(node->captureId);
        if (capture == nullptr || allocation.kind == "device"
            || *allocation.freeNs > capture->endNs.value_or(m_process.endNs))
            return false;
        // A framework's block from before the capture does not become the graph's by being freed inside it.
        const bool isOutside = allocation.kind == "framework" && allocation.poolId == 0
            && allocation.allocNs < capture->startNs;
        return !isOutside;
    }

    // Who holds the address when the first stale replay is launched, or else when the last one is. Of blocks
    // there may be hundreds of thousands: they are found in one sweep.
    void findNewOwners(std::vector<Stale>& stales) const {
        std::vector<BlockQuery> queries(stales.size() * 2);
        std::vector<BlockQuery*> asked;
        for (std::size_t i = 0; i < stales.size(); ++i) {
            const Stale& stale = stales[i];
            if (stale.first == nullptr || stale.allocation->kind != "framework")
                continue;
            queries[2 * i] = {stale.pointer->address, stale.first->launchStartNs, nullptr};
            queries[2 * i + 1] = {stale.pointer->address, stale.last->launchStartNs, nullptr};
            asked.insert(asked.end(), {&queries[2 * i], &queries[2 * i + 1]});
        }
        blocksAt(m_process.allocations, std::move(asked));
        for (std::size_t i = 0; i < stales.size(); ++i) {
            Stale& stale = stales[i];
            if (stale.allocation->kind != "framework")
                stale.owner = driverOwnerOf(stale);
            for (const std::size_t at : {2 * i, 2 * i + 1}) {
                const Allocation* block = queries[at].block;
                if (stale.owner == nullptr && block != nullptr && block->allocNs >= *stale.allocation->freeNs)
                    stale.owner = block;
            }
        }
    }

    const Allocation* driverOwnerOf(const Stale& stale) const {
        if (stale.first == nullptr)
            return nullptr;
        const std::uint64_t address = stale.pointer->address;
        for (const Allocation& other : m_process.allocations) {
            if (other.allocNs < *stale.allocation->freeNs || other.allocNs > stale.last->launchStartNs
                || other.allocationId == stale.allocation->allocationId || other.kind == "framework")
                continue;
            const bool alive = !other.freeNs || *other.freeNs > stale.first->launchStartNs;
            if (alive && address >= other.address
                && address - other.address < static_cast<std::uint64_t>(other.bytes))
                return &other;
        }
        return nullptr;
    }

    // A block that went back to the pool the graph lives in stays the graph's: only another owner outside
    // that pool makes it a hit, or that the pool itself was given back.
    bool isHit(const Stale& stale) const {
        return stale.allocation->kind != "framework" || stale.allocation->poolId == 0 || isUnmapped(stale)
            || (stale.owner != nullptr && stale.owner->poolId != stale.allocation->poolId);
    }

    const ProcessData& m_process;
    const ParametersByExec& m_updates;
    std::unordered_map<std::int64_t, const Allocation*> m_allocations;
    std::unordered_map<std::int64_t, std::vector<const Pointer*>> m_byGraph;
    std::unordered_map<std::int64_t, std::int64_t> m_nodesChangedNs; // by exec
};

Result<void> write(Statement& insert, FactContext& context, const ProcessData& process, const Stale& stale,
    std::string_view confidence, NodePlaces& places) {
    const Node* node = process.node(stale.pointer->nodeId);
    const Graph* graph = process.templateOf(*stale.exec);
    const Allocation& allocation = *stale.allocation;
    const bool isSeen = stale.first != nullptr;
    const std::int64_t startNs = isSeen ? stale.first->launchStartNs : stale.fromNs;
    std::int64_t nodeStack = graph != nullptr ? graph->stackId : 0;
    if (node != nullptr) {
        GD_TRY_ASSIGN(nodeStack, places.of(*node));
    }
    GD_TRY_ASSIGN(const auto allocPlace, context.stacks.jobPlace(allocation.stackId));
    GD_TRY_ASSIGN(
        const auto ownerPlace, context.stacks.jobPlace(stale.owner == nullptr ? 0 : stale.owner->stackId));
    return insert.runWith(process.processId, stale.exec->execId, orNull(stale.exec->graphId),
        process.graphName(graph, stale.exec->execId), stale.pointer->nodeId,
        node == nullptr          ? "node"
            : node->name.empty() ? node->type
                                 : node->name,
        stale.pointer->param, stale.pointer->role, stale.nodes.size(),
        static_cast<std::int64_t>(stale.pointer->address), allocation.allocationId, allocation.kind,
        allocation.bytes, allocation.allocNs, orNull(allocation.stackId), *allocation.freeNs,
        orNull(allocation.freeThreadId), orNull(allocation.freeStackId),
        stale.owner == nullptr ? std::nullopt : std::optional(stale.owner->allocationId),
        stale.owner == nullptr ? std::nullopt : orNull(stale.owner->stackId), startNs,
        isSeen ? stale.last->launchEndNs : startNs, stale.replays, process.stepNumberAt(startNs),
        orNull(nodeStack), confidence, allocPlace, ownerPlace, isSeen);
}

} // namespace

Result<void> buildStalePointer(FactContext& context) {
    GD_TRY_ASSIGN(auto pointers, readPointers(context.db));
    GD_TRY_ASSIGN(const auto updates, readUpdates(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO stale_pointer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        const auto found = pointers.find(process.processId);
        if (found == pointers.end())
            continue;
        const StaleFinder finder(process, found->second, updates);
        NodePlaces places(context.stacks, process);
        for (const Stale& stale : finder.find())
            GD_TRY(write(insert, context, process, stale, finder.confidenceOf(stale), places));
    }
    return {};
}

} // namespace gd::facts
