// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/call_arguments.h"
#include "collector/session/flat_map.h"
#include "collector/session/spin_lock.h"

#include <cstdint>

namespace gd::cupti {

/// Turns CUDA handles, which are recycled, into ids that are unique for the process's whole life.
/// - Graphs, executables and nodes keep CUPTI's own numbers, which activity records carry too: an
/// executable's
///   differs from its graph's, a node's is (graph or executable << 32) | index (seen by
///   tests/e2e/probes/graph_callbacks).
/// - Streams keep CUPTI's stream number, with the context in the bits above; the legacy default stream is
///   raw::kLegacyStream. Events and contexts are numbered here.
/// Any thread; one lock for a few tens of nanoseconds. Makes no driver call.
class Objects {
public:
    struct GraphEntry {
        std::uint32_t id;
        bool reported; ///< the sink knows it; what an instantiate builds for itself stays unknown
        bool hasAllocations; ///< holds, itself or below, a memory allocation node
        bool hasHostNodes; ///< the same of host nodes
        std::uint64_t parentNode; ///< child graphs: node id
        CUgraph parentGraph;
    };
    struct ExecEntry {
        std::uint32_t id;
        std::uint32_t graph; ///< template
        bool traceable;
        bool pins; ///< see GraphTracePolicy
        bool launched; ///< once at least
        std::uint64_t context; ///< of the instantiate, 0 = unknown
    };

    std::uint64_t contextCreated(CUcontext context, std::uint32_t device) noexcept;
    /// 0 when unknown. `device` is set when known.
    std::uint64_t context(CUcontext context, std::uint32_t& device) noexcept;
    std::uint64_t contextDestroyed(CUcontext context) noexcept;
    /// True for a known context until legacyStreamKnown(), some hundred times.
    bool wantsLegacyStream(CUcontext context) noexcept;
    void legacyStreamKnown(CUcontext context) noexcept;

    /// The id of CUPTI's stream number in a context of ours.
    static std::uint64_t streamNumber(std::uint64_t context, std::uint32_t cuptiId) noexcept;
    std::uint64_t streamCreated(
        CUstream stream, std::uint64_t context, std::uint32_t cuptiId, std::uint32_t device) noexcept;
    /// The id for a call's stream argument, 0 = the call has none. Streams never seen get a number of their
    /// own. `device` (may be null) becomes the stream's, where that is known: another context than the
    /// stream's may be current.
    std::uint64_t stream(const CallArguments& arguments, std::uint32_t* device = nullptr) noexcept;
    std::uint64_t streamDestroyed(CUstream stream) noexcept;

    std::uint64_t eventCreated(CUevent event) noexcept;
    std::uint64_t event(CUevent event) noexcept;
    std::uint64_t eventDestroyed(CUevent event) noexcept;

    void graphCreated(CUgraph graph, const GraphEntry& entry) noexcept;
    bool graph(CUgraph graph, GraphEntry& out) noexcept;
    std::uint64_t graphId(CUgraph graph) noexcept;
    bool graphDestroyed(CUgraph graph, GraphEntry& out) noexcept;
    /// Sets `what` for the graph and those it hangs below.
    void mark(CUgraph graph, bool GraphEntry::*what) noexcept;

    void execCreated(CUgraphExec exec, const ExecEntry& entry) noexcept;
    std::uint64_t execId(CUgraphExec exec) noexcept;
    /// True for the first launch of a known executable.
    bool execLaunched(CUgraphExec exec) noexcept;
    bool execDestroyed(CUgraphExec exec, ExecEntry& out) noexcept;
    /// Forgets one executable of a context that is being destroyed; false: there is none left.
    bool execOfContextDestroyed(std::uint64_t context, ExecEntry& out) noexcept;

private:
    template <class Handle> static std::uint64_t key(Handle handle) {
        return reinterpret_cast<std::uint64_t>(handle);
    }
    struct ContextEntry {
        std::uint64_t id;
        std::uint32_t device;
        std::uint32_t legacyTries; ///< left
    };

    session::SpinLock m_lock;
    session::FlatMap<ContextEntry> m_contexts;
    struct StreamEntry {
        std::uint64_t id;
        std::uint32_t device;
        bool knowsDevice;
    };
    session::FlatMap<StreamEntry> m_streams;
    session::FlatMap<std::uint64_t> m_events;
    session::FlatMap<GraphEntry> m_graphs;
    session::FlatMap<ExecEntry> m_execs;
    std::uint64_t m_nextContext = 1;
    std::uint64_t m_nextEvent = 1;
    std::uint64_t m_nextUnknownStream = 0;
};

} // namespace gd::cupti
