// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_key.h"
#include "runtime/graph.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gdt::graphs {

enum class EntryState {
    Cold, ///< never run
    Warming, ///< runs eagerly until everything lazy has happened
    Capturing,
    Instantiating,
    Ready,
    Replaying,
    Updating, ///< captured again because addresses changed; its executable takes over the new arguments
    Failed, ///< a capture, instantiation or launch failed; left at once
    EagerFallback, ///< runs eagerly, tries again later or when the cache has room
    Evicted, ///< its graph was given up for another; captures again when next wanted
    Disabled, ///< failed too often; runs eagerly for good
};

enum class Reason {
    None,
    CaptureFailed,
    Unjoined,
    UnsupportedCall,
    InstantiateFailed,
    LaunchFailed,
    PointerChanged,
    CacheFull,
    PeerRefused,
    LeftOpen,
    ShapeChanged,
    PoolExhausted,
    TopologyChanged,
};

[[nodiscard]] const char* stateName(EntryState state);
[[nodiscard]] const char* reasonName(Reason reason);

/// The transitions that the manager may make; everything else is a bug and aborts.
[[nodiscard]] bool mayFollow(EntryState from, EntryState to);

/// One key's graph and history. Owned by the cache, used by one thread.
struct GraphEntry {
    GraphKey key;
    EntryState state = EntryState::Cold;
    Reason reason = Reason::None; ///< of the last failure or fallback
    std::string detail; ///< of the last failure, what the reason does not say; may be empty
    runtime::GraphExec exec; ///< valid in Ready, Replaying and Updating
    std::uint64_t guard = 0; ///< Region::guard() at capture
    std::int64_t eagerRuns = 0; ///< since the last failure
    std::int64_t warmRuns = 0; ///< eager runs of this key before its first capture
    int failures = 0;
    int rerecords = 0; ///< captures because a shape or address changed
    std::uint64_t uses = 0; ///< calls of the manager
    std::uint64_t lastUse = 0; ///< the manager's call counter
};

/// One change of state, for marks and logs.
struct Transition {
    const GraphKey& key;
    EntryState from;
    EntryState to;
    Reason reason;
    std::size_t nodes = 0; ///< of the graph, when it became Ready
    std::string detail = {}; ///< figures of the reason, as the end of a sentence; may be empty

    /// For example "a shape changed" or, with figures, "the graph pool is exhausted: it needs 3.1 MiB ...".
    [[nodiscard]] std::string reasonText() const;
};

} // namespace gdt::graphs
