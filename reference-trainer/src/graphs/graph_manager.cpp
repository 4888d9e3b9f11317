// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_manager.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gdt::graphs {

using runtime::ok;
using runtime::Status;

namespace {

Reason reasonOf(Status status) {
    switch (status) {
    case Status::CaptureUnjoined:
        return Reason::Unjoined;
    case Status::CaptureUnsupported:
        return Reason::UnsupportedCall;
    default:
        return Reason::CaptureFailed;
    }
}

} // namespace

GraphManager::GraphManager(const ManagerOptions& options, CaptureHooks& hooks, Agreement& agreement,
    Observer observer, Agreement* stageAgreement, CaptureMemory* memory)
    : m_options(options)
    , m_hooks(hooks)
    , m_agreement(agreement)
    , m_stageAgreement(stageAgreement != nullptr ? *stageAgreement : agreement)
    , m_observer(std::move(observer))
    , m_memory(memory)
    , m_cache(options.maxGraphs, options.policy) { }

void GraphManager::move(GraphEntry& entry, EntryState to, Reason reason) {
    if (!mayFollow(entry.state, to)) {
        std::fprintf(stderr, "graph manager: %s may not go from %s to %s\n", entry.key.text().c_str(),
            stateName(entry.state), stateName(to));
        std::abort();
    }
    const EntryState from = std::exchange(entry.state, to);
    if (reason != Reason::None) {
        entry.reason = reason;
    }
    if (m_observer) {
        const bool made = to == EntryState::Ready && from != EntryState::Replaying;
        m_observer({entry.key, from, to, reason, made ? entry.exec.nodeCount() : 0,
            reason == Reason::None ? std::string() : entry.detail});
    }
}

Status GraphManager::run(const GraphKey& key, Region& region, StreamSlot& slot) {
    if (m_options.mode == GraphMode::Eager) {
        return runEager(region, slot, RunKind::Eager);
    }
    GraphEntry& entry = m_cache.find(key);
    entry.lastUse = ++m_calls;
    ++entry.uses;
    return runManual(entry, region, slot);
}

Status GraphManager::runEager(Region& region, StreamSlot& slot, RunKind kind) {
    m_lastRun = kind;
    m_counts.warmUps += kind == RunKind::WarmUp ? 1 : 0;
    m_counts.fallbacks += kind == RunKind::Fallback ? 1 : 0;
    return region.issue(slot.stream());
}

Status GraphManager::runManual(GraphEntry& entry, Region& region, StreamSlot& slot) {
    const bool ready = entry.state == EntryState::Ready;
    if (ready && !fits(entry, region)) {
        if (m_options.mode == GraphMode::Auto) {
            giveUpShape(entry);
        } else if (m_options.guard == Guard::Refuse) {
            return refuse(entry, region);
        } else {
            return updateThenRun(entry, region, slot);
        }
    } else if (ready && m_hooks.recaptures(entry.key.scope)) {
        evict(entry, Reason::None);
    } else if (ready && m_hooks.updates(entry.key.scope)) {
        return updateThenRun(entry, region, slot);
    }
    if (entry.state == EntryState::Ready) {
        return replay(entry, region, slot);
    }
    if (wantsCapture(entry)) {
        return captureThenRun(entry, region, slot);
    }
    const bool warming = entry.state == EntryState::Warming;
    m_warmRuns[static_cast<std::size_t>(entry.key.scope)] += warming ? 1 : 0;
    entry.warmRuns += warming ? 1 : 0;
    entry.eagerRuns += warming ? 0 : 1;
    return runEager(region, slot, warming ? RunKind::WarmUp : RunKind::Fallback);
}

bool GraphManager::fits(const GraphEntry& entry, const Region& region) const {
    const bool unguarded = m_options.guard == Guard::None && m_options.mode == GraphMode::Manual;
    return unguarded || entry.guard == region.guard();
}

Status GraphManager::refuse(const GraphEntry& entry, const Region& region) {
    m_refusal = "graph " + entry.key.text() + ": the inputs have another shape than at its capture (length "
        + std::to_string(region.guard()) + " instead of " + std::to_string(entry.guard)
        + "), and --guard megatron does not capture again";
    return Status::InvalidValue;
}

// The graph does not fit what the region would issue now.
void GraphManager::giveUpShape(GraphEntry& entry) {
    evict(entry, Reason::ShapeChanged);
    if (++entry.rerecords > m_options.maxRerecords) {
        move(entry, EntryState::Disabled, Reason::ShapeChanged);
    }
}

bool GraphManager::isWarm(const GraphEntry& entry) {
    const Scope scope = entry.key.scope;
    const std::int64_t configured = m_options.mode == GraphMode::Auto ? 1 : m_options.warmupRuns;
    const std::int64_t runs
        = withinPass(scope) ? entry.warmRuns : m_warmRuns[static_cast<std::size_t>(scope)];
    return runs >= m_hooks.warmupRuns(scope, configured);
}

bool GraphManager::wantsCapture(GraphEntry& entry) {
    const bool warm = isWarm(entry);
    switch (entry.state) {
    case EntryState::Cold:
        if (!warm) {
            move(entry, EntryState::Warming);
            return false;
        }
        break;
    case EntryState::Warming:
        if (!warm) {
            return false;
        }
        break;
    case EntryState::EagerFallback:
        if (entry.reason != Reason::CacheFull && entry.eagerRuns < m_options.retryAfter) {
            return false;
        }
        break;
    case EntryState::Evicted:
        break;
    default:
        return false;
    }
    if (makeRoom()) {
        return true;
    }
    if (entry.state != EntryState::EagerFallback) {
        move(entry, EntryState::EagerFallback, Reason::CacheFull);
    }
    return false;
}

bool GraphManager::makeRoom() {
    if (!m_cache.full()) {
        return true;
    }
    GraphEntry* victim = m_cache.victim();
    if (victim != nullptr) {
        evict(*victim, Reason::CacheFull);
    }
    return !m_cache.full();
}

void GraphManager::evict(GraphEntry& entry, Reason reason) {
    m_hooks.discard(entry.key.scope, entry.exec);
    entry.exec = runtime::GraphExec();
    move(entry, EntryState::Evicted, reason);
}

Reason GraphManager::capture(GraphEntry& entry, Region& region, StreamSlot& slot, runtime::Graph& graph) {
    entry.detail = m_memory != nullptr ? m_memory->refusal(entry.key) : std::string();
    if (!entry.detail.empty()) {
        return Reason::PoolExhausted;
    }
    if (m_memory == nullptr) {
        return captureFrozen(entry, region, slot, graph);
    }
    m_memory->freeze(true);
    const Reason reason = captureFrozen(entry, region, slot, graph);
    m_memory->freeze(false);
    return reason;
}

Reason GraphManager::captureFrozen(
    GraphEntry& entry, Region& region, StreamSlot& slot, runtime::Graph& graph) {
    const Scope scope = entry.key.scope;
    runtime::Stream& stream = slot.stream();
    entry.guard = region.guard();
    // Drained first, so that no event of the steps before can be mistaken for one of the capture.
    if (!ok(stream.synchronize())) {
        return Reason::CaptureFailed;
    }
    const runtime::CaptureMode mode = m_hooks.captureMode(scope, m_options.captureMode);
    if (const Status begun = m_hooks.beginCapture(scope, stream, mode); !ok(begun)) {
        return reasonOf(begun);
    }
    const Status issued = region.issue(stream);
    if (!m_hooks.endsCapture(scope, issued)) {
        return Reason::LeftOpen;
    }
    const Status ended = stream.endCapture(graph);
    if (!ok(issued)) {
        return reasonOf(issued);
    }
    return ok(ended) ? Reason::None : reasonOf(ended);
}

Reason GraphManager::instantiate(GraphEntry& entry, const runtime::Graph& graph, Reason why) {
    move(entry, EntryState::Instantiating, why);
    return ok(graph.instantiate(entry.exec)) ? Reason::None : Reason::InstantiateFailed;
}

// A graph of another shape gets an executable of its own, from the same capture: a collective is captured on
// all ranks or on none, so one rank must not capture more often than another.
Reason GraphManager::update(GraphEntry& entry, const runtime::Graph& graph) {
    if (ok(entry.exec.update(graph))) {
        return Reason::None;
    }
    runtime::clearFailure();
    if (!ok(entry.exec.destroy())) {
        return Reason::InstantiateFailed;
    }
    entry.exec = runtime::GraphExec();
    return instantiate(entry, graph, Reason::TopologyChanged);
}

Agreement& GraphManager::agreementFor(const GraphEntry& entry) {
    return withinPass(entry.key.scope) ? m_stageAgreement : m_agreement;
}

Status GraphManager::captureThenRun(GraphEntry& entry, Region& region, StreamSlot& slot) {
    if (m_hooks.staysEager(entry.key.scope)) {
        static_cast<void>(agreementFor(entry).everyone(true));
        move(entry, EntryState::EagerFallback, Reason::CaptureFailed);
        return runEager(region, slot, RunKind::Fallback);
    }
    move(entry, EntryState::Capturing);
    runtime::Graph graph;
    Reason reason = capture(entry, region, slot, graph);
    if (reason == Reason::None) {
        reason = instantiate(entry, graph);
    }
    return commit(entry, reason, region, slot);
}

// The addresses changed and nothing else, as far as anybody knows.
Status GraphManager::updateThenRun(GraphEntry& entry, Region& region, StreamSlot& slot) {
    move(entry, EntryState::Updating, Reason::PointerChanged);
    runtime::Graph graph;
    Reason reason = capture(entry, region, slot, graph);
    if (reason == Reason::None) {
        reason = update(entry, graph);
    }
    return commit(entry, reason, region, slot);
}

Status GraphManager::commit(GraphEntry& entry, Reason reason, Region& region, StreamSlot& slot) {
    if (!agreementFor(entry).everyone(reason == Reason::None) && reason == Reason::None) {
        reason = Reason::PeerRefused;
    }
    if (reason != Reason::None && !m_hooks.fallsBack(entry.key.scope)) {
        const Status cause = runtime::lastFailure().status;
        return ok(cause) ? Status::CaptureInvalidated : cause;
    }
    if (reason != Reason::None) {
        GDT_TRY(recover(entry, reason, slot));
        return runEager(region, slot, RunKind::Fallback);
    }
    move(entry, EntryState::Ready);
    ++m_counts.captures;
    return replay(entry, region, slot);
}

Status GraphManager::recover(GraphEntry& entry, Reason reason, StreamSlot& slot) {
    if (entry.exec.valid()) {
        GDT_TRY(entry.exec.destroy());
        entry.exec = runtime::GraphExec();
    }
    ++entry.failures;
    ++m_counts.failures;
    entry.eagerRuns = 0;
    move(entry, EntryState::Failed, reason);
    move(entry, entry.failures < m_options.maxFailures ? EntryState::EagerFallback : EntryState::Disabled,
        reason);
    runtime::clearFailure();
    if (!slot.stream().capturing()) {
        return Status::Success;
    }
    // The capture that was left open forbids this thread everything that could disturb it.
    runtime::CaptureMode mode = runtime::CaptureMode::Relaxed;
    GDT_TRY(runtime::exchangeThreadCaptureMode(&mode));
    return slot.replace();
}

Status GraphManager::replay(GraphEntry& entry, Region& region, StreamSlot& slot) {
    move(entry, EntryState::Replaying);
    if (const Status launched = m_hooks.launch(entry.key.scope, entry.exec, slot.stream()); !ok(launched)) {
        GDT_TRY(recover(entry, Reason::LaunchFailed, slot));
        return runEager(region, slot, RunKind::Fallback);
    }
    m_lastRun = RunKind::Replay;
    ++m_counts.replays;
    move(entry, EntryState::Ready);
    return Status::Success;
}

Status GraphManager::clear() {
    for (const auto& [key, entry] : m_cache.entries()) {
        if (entry.exec.valid()) {
            GDT_TRY(m_cache.find(key).exec.destroy());
        }
    }
    return Status::Success;
}

} // namespace gdt::graphs
