// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_key.h"
#include "runtime/stream.h"

#include <cstdint>

namespace gdt::graphs {

/// Places in the graph manager where a fault can act; this class does the right thing, FaultInjector may not.
class CaptureHooks {
public:
    virtual ~CaptureHooks() = default;

    /// Eager runs before the capture of `scope`, given the configured number.
    [[nodiscard]] virtual std::int64_t warmupRuns(Scope scope, std::int64_t configured);
    [[nodiscard]] virtual runtime::CaptureMode captureMode(Scope scope, runtime::CaptureMode configured);
    virtual runtime::Status beginCapture(Scope scope, runtime::Stream& stream, runtime::CaptureMode mode);
    /// False: the caller of the region returns without ending the capture.
    [[nodiscard]] virtual bool endsCapture(Scope scope, runtime::Status issued);
    /// True: no capture, though the other ranks are told that it went well, and eager runs from then on.
    [[nodiscard]] virtual bool staysEager(Scope scope);
    /// False: a failed capture is not caught, it ends the run.
    [[nodiscard]] virtual bool fallsBack(Scope scope);
    /// True: the graph is captured again before this run, though it would fit.
    [[nodiscard]] virtual bool recaptures(Scope scope);
    /// True: before this run the executable takes over the arguments of a new capture, where it can.
    [[nodiscard]] virtual bool updates(Scope scope);
    /// Gives up a graph that is not used any more.
    virtual void discard(Scope scope, runtime::GraphExec& exec);
    virtual runtime::Status launch(Scope scope, runtime::GraphExec& exec, runtime::Stream& stream);
};

} // namespace gdt::graphs
