// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_entry.h"

#include <algorithm>
#include <iterator>

namespace gdt::graphs {

namespace {

using S = EntryState;

struct Edge {
    EntryState from;
    EntryState to;
};

constexpr Edge kEdges[] = {
    {S::Cold, S::Warming},
    {S::Cold, S::Capturing},
    {S::Cold, S::EagerFallback},
    {S::Warming, S::Capturing},
    {S::Warming, S::EagerFallback},
    {S::Capturing, S::Instantiating},
    {S::Capturing, S::Failed},
    {S::Instantiating, S::Ready},
    {S::Instantiating, S::Failed},
    {S::Ready, S::Replaying},
    {S::Ready, S::Evicted},
    {S::Ready, S::Updating},
    {S::Updating, S::Ready},
    {S::Updating, S::Instantiating},
    {S::Updating, S::Failed},
    {S::Replaying, S::Ready},
    {S::Replaying, S::Failed},
    {S::Failed, S::EagerFallback},
    {S::Failed, S::Disabled},
    {S::EagerFallback, S::Warming},
    {S::EagerFallback, S::Capturing},
    {S::Evicted, S::Capturing},
    {S::Evicted, S::EagerFallback},
    {S::Evicted, S::Disabled},
};

} // namespace

const char* stateName(EntryState state) {
    switch (state) {
    case S::Cold:
        return "cold";
    case S::Warming:
        return "warming";
    case S::Capturing:
        return "capturing";
    case S::Instantiating:
        return "instantiating";
    case S::Ready:
        return "ready";
    case S::Replaying:
        return "replaying";
    case S::Updating:
        return "updating";
    case S::Failed:
        return "failed";
    case S::EagerFallback:
        return "eager-fallback";
    case S::Evicted:
        return "evicted";
    case S::Disabled:
        return "disabled";
    }
    return "unknown";
}

const char* reasonName(Reason reason) {
    switch (reason) {
    case Reason::None:
        return "none";
    case Reason::CaptureFailed:
        return "capture failed";
    case Reason::Unjoined:
        return "a forked stream was not joined";
    case Reason::UnsupportedCall:
        return "a call that a capture forbids";
    case Reason::InstantiateFailed:
        return "instantiation failed";
    case Reason::LaunchFailed:
        return "launch failed";
    case Reason::PointerChanged:
        return "a captured address changed";
    case Reason::CacheFull:
        return "graph cache is full";
    case Reason::PeerRefused:
        return "another rank could not capture";
    case Reason::LeftOpen:
        return "the capture was left open";
    case Reason::ShapeChanged:
        return "a shape changed";
    case Reason::PoolExhausted:
        return "the graph pool is exhausted";
    case Reason::TopologyChanged:
        return "the new capture has another shape than the graph";
    }
    return "unknown";
}

std::string Transition::reasonText() const {
    return std::string(reasonName(reason)) + (detail.empty() ? "" : ": " + detail);
}

bool mayFollow(EntryState from, EntryState to) {
    return std::any_of(std::begin(kEdges), std::end(kEdges),
        [&](const Edge& edge) { return edge.from == from && edge.to == to; });
}

} // namespace gdt::graphs
