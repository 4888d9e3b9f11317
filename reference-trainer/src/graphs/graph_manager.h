// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/agreement.h"
#include "graphs/capture_hooks.h"
#include "graphs/capture_memory.h"
#include "graphs/graph_cache.h"
#include "graphs/region.h"

#include <functional>
#include <string>

namespace gdt::graphs {

enum class GraphMode {
    Eager, ///< every region is issued kernel by kernel
    Manual, ///< every region is captured after its warm-up and replayed from then on
    Auto, ///< blindly: a region is captured at its second run, again when its shape changes, and runs eagerly
          ///< for good when that happens too often
};

/// What mode Manual does when a region has another shape or address than when it was captured.
enum class Guard {
    Strict, ///< captures it again: a shape is part of the key
    Refuse, ///< ends the run with a sentence
    None, ///< replays the graph as it is, with the shapes and addresses of the capture
};

struct ManagerOptions {
    GraphMode mode = GraphMode::Manual;
    std::size_t maxGraphs = 16;
    CachePolicy policy = CachePolicy::Fallback;
    std::int64_t warmupRuns = 3; ///< eager runs of a scope, whatever the key: buffers fit the largest shape
    std::int64_t retryAfter = 500; ///< eager runs between a failure and the next attempt
    int maxFailures = 2; ///< then the key is Disabled
    int maxRerecords = 8; ///< mode Auto: then the key is Disabled
    Guard guard = Guard::Strict;
    runtime::CaptureMode captureMode = runtime::CaptureMode::ThreadLocal;
};

/// How run() got the work onto the stream.
enum class RunKind { Eager, WarmUp, Replay, Fallback };

/// How often run() did what.
struct RunCounts {
    std::int64_t warmUps = 0;
    std::int64_t captures = 0; ///< that gave a graph, updates included; each is followed by a replay
    std::int64_t failures = 0; ///< of captures and launches
    std::int64_t replays = 0;
    std::int64_t fallbacks = 0; ///< eager runs where a graph was wanted
};

/// Captures regions, keeps their graphs and replays them. A scope runs eagerly until warm; then each key is
/// captured once and replayed (graphs within a pass warm up key by key); a capture that fails, here or on
/// another rank, sends the key to eager execution with a reason, so a run never stops because of a graph. One
/// thread.
class GraphManager {
public:
    using Observer = std::function<void(const Transition&)>;

    /// `stageAgreement` is asked for graphs within a pass, which only the ranks of one stage run together;
    /// null: `agreement` is. Null `memory`: every graph fits.
    GraphManager(const ManagerOptions& options, CaptureHooks& hooks, Agreement& agreement, Observer observer,
        Agreement* stageAgreement = nullptr, CaptureMemory* memory = nullptr);

    /// Puts the region's work onto the slot's stream. Fails only where the eager form fails, too.
    runtime::Status run(const GraphKey& key, Region& region, StreamSlot& slot);

    /// One sentence when Guard::Refuse ended the run, else empty.
    [[nodiscard]] const std::string& refusal() const { return m_refusal; }
    [[nodiscard]] RunKind lastRun() const { return m_lastRun; }
    [[nodiscard]] const RunCounts& counts() const { return m_counts; }
    [[nodiscard]] const GraphCache& cache() const { return m_cache; }
    /// Destroys all graphs; replays that are queued already still run.
    runtime::Status clear();

private:
    runtime::Status runManual(GraphEntry& entry, Region& region, StreamSlot& slot);
    runtime::Status runEager(Region& region, StreamSlot& slot, RunKind kind);
    runtime::Status captureThenRun(GraphEntry& entry, Region& region, StreamSlot& slot);
    runtime::Status updateThenRun(GraphEntry& entry, Region& region, StreamSlot& slot);
    runtime::Status commit(GraphEntry& entry, Reason reason, Region& region, StreamSlot& slot);
    runtime::Status replay(GraphEntry& entry, Region& region, StreamSlot& slot);
    [[nodiscard]] Agreement& agreementFor(const GraphEntry& entry);
    [[nodiscard]] bool isWarm(const GraphEntry& entry);
    [[nodiscard]] bool wantsCapture(GraphEntry& entry);
    /// Whether the region is what the graph was captured from, as far as the guard asks.
    [[nodiscard]] bool fits(const GraphEntry& entry, const Region& region) const;
    runtime::Status refuse(const GraphEntry& entry, const Region& region);
    void giveUpShape(GraphEntry& entry);
    [[nodiscard]] bool makeRoom();
    Reason capture(GraphEntry& entry, Region& region, StreamSlot& slot, runtime::Graph& graph);
    Reason captureFrozen(GraphEntry& entry, Region& region, StreamSlot& slot, runtime::Graph& graph);
    Reason instantiate(GraphEntry& entry, const runtime::Graph& graph, Reason why = Reason::None);
    Reason update(GraphEntry& entry, const runtime::Graph& graph);
    runtime::Status recover(GraphEntry& entry, Reason reason, StreamSlot& slot);
    void evict(GraphEntry& entry, Reason reason);
    void move(GraphEntry& entry, EntryState to, Reason reason = Reason::None);

    ManagerOptions m_options;
    CaptureHooks& m_hooks;
    Agreement& m_agreement;
    Agreement& m_stageAgreement;
    Observer m_observer;
    CaptureMemory* m_memory;
    GraphCache m_cache;
    RunKind m_lastRun = RunKind::Eager;
    RunCounts m_counts;
    std::string m_refusal;
    std::uint64_t m_calls = 0;
    std::int64_t m_warmRuns[kScopes] = {}; // by scope
};

} // namespace gdt::graphs
