// SPDX-License-Identifier: Apache-2.0
#include "graphs/capture_hooks.h"

namespace gdt::graphs {

std::int64_t CaptureHooks::warmupRuns(Scope, std::int64_t configured) {
    return configured;
}

runtime::CaptureMode CaptureHooks::captureMode(Scope, runtime::CaptureMode configured) {
    return configured;
}

runtime::Status CaptureHooks::beginCapture(Scope, runtime::Stream& stream, runtime::CaptureMode mode) {
    return stream.beginCapture(mode);
}

bool CaptureHooks::endsCapture(Scope, runtime::Status) {
    return true;
}

bool CaptureHooks::staysEager(Scope) {
    return false;
}

bool CaptureHooks::fallsBack(Scope) {
    return true;
}

bool CaptureHooks::recaptures(Scope) {
    return false;
}

bool CaptureHooks::updates(Scope) {
    return false;
}

void CaptureHooks::discard(Scope, runtime::GraphExec& exec) {
    // Launches that are queued already keep the executable alive (runtime/graph.h).
    static_cast<void>(exec.destroy());
}

runtime::Status CaptureHooks::launch(Scope, runtime::GraphExec& exec, runtime::Stream& stream) {
    return exec.launch(stream);
}

} // namespace gdt::graphs
