// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"
#include "collector/cupti/call_arguments.h"

#include <atomic>
#include <cstdint>

namespace gd::cupti {

/// What the calling thread is inside of. Driver calls nest rarely (host nodes run on driver threads) and then
/// a level or two.
struct ThreadCalls {
    struct Open {
        CallArguments arguments;
        gd_rt_api call{}; ///< as reported at enter; handles may be gone at exit
        bool hadContext = false; ///< one was current at enter
        bool execStarted = false; ///< instantiate: GRAPHEXEC_CREATE_STARTING has come
        std::uint32_t execGraph = 0; ///< instantiate: number of the executable, known from its first graph
        bool freeReported = false; ///< the sink was told at enter
    };
    struct PendingNode { ///< between GRAPHNODE_CREATE_STARTING, the only one that knows the type, and CREATED
        CUgraphNode node;
        CUgraphNodeType type;
    };
    static constexpr unsigned kMaxOpen = 4;
    static constexpr unsigned kMaxPending = 8;

    Open open[kMaxOpen];
    unsigned depth = 0;
    PendingNode pending[kMaxPending] = {};
    unsigned pendingCount = 0;
    PendingNode copied{}; ///< created as part of a copy, waits for its CLONED
    bool launchesReplay = false; ///< between enter and exit of a graph's launch
    CUgraphExec launchedExec = nullptr; ///< of that launch
    CUstream replayStream = nullptr; ///< see ReplayStreams: noted last, in that generation
    CUcontext replayContext = nullptr;
    std::uint32_t replayGeneration = 0;
    std::uint32_t* mark = nullptr; ///< raw::ThreadMark::callback of this thread, null = not known yet
    bool inside = false; ///< this thread runs code of ours: calls it makes are not the job's

    Open* innermost() { return depth > 0 ? &open[depth - 1] : nullptr; }
    /// Exits get lost when a callback is switched off during a call; what they left behind is dropped here.
    Open& enter() {
        depth = depth < kMaxOpen ? depth + 1 : 1;
        pendingCount = 0;
        return open[depth - 1];
    }
    /// The call that exits now, null when its enter was not seen.
    Open* exit(std::uint64_t correlation) {
        while (depth > 0) {
            Open* innermostOpen = &open[--depth];
            if (innermostOpen->call.correlation == correlation) {
                return innermostOpen;
            }
        }
        return nullptr;
    }
    gd_api_id currentApi() { return innermost() != nullptr ? innermost()->arguments.api : GD_API_NONE; }

    void push(CUgraphNode node, CUgraphNodeType type) {
        if (pendingCount < kMaxPending) {
            pending[pendingCount++] = {node, type};
        }
    }
    /// Takes `node` and everything begun after it off; false when it was never begun.
    bool pop(CUgraphNode node, CUgraphNodeType& type) {
        for (unsigned i = pendingCount; i > 0; --i) {
            if (pending[i - 1].node == node) {
                type = pending[i - 1].type;
                pendingCount = i - 1;
                return true;
            }
        }
        return false;
    }
    /// The child-graph or conditional node that is being created around what happens now, or null.
    CUgraphNode enclosingNode() const { return pendingCount > 0 ? pending[pendingCount - 1].node : nullptr; }

    /// Says in the ring where this thread is, 0 = outside. Never in a forked child.
    void says(std::uint32_t where) noexcept {
        if (mark != nullptr) {
            std::atomic_ref(*mark).store(where, std::memory_order_relaxed);
        }
    }

    static ThreadCalls& current() noexcept;
};

/// Marks that the thread runs code of ours while in scope.
class InsideGuard {
public:
    explicit InsideGuard(ThreadCalls& calls) noexcept
        : m_calls(calls)
        , m_before(calls.inside) {
        m_calls.inside = true;
    }
    ~InsideGuard() { m_calls.inside = m_before; }
    InsideGuard(const InsideGuard&) = delete;
    InsideGuard& operator=(const InsideGuard&) = delete;

private:
    ThreadCalls& m_calls;
    bool m_before;
};

} // namespace gd::cupti
