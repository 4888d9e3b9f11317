// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/repeated_launches.h"

#include <algorithm>
#include <vector>

namespace gd::facts {

namespace {

// When kernels started that were launched one by one, sorted.
std::vector<std::int64_t> eagerStarts(const ProcessData& process) {
    std::vector<std::int64_t> starts;
    for (const DeviceOp& op : process.ops) {
        if (!op.inGraph && op.kind == DeviceOp::Kind::kernel)
            starts.push_back(op.startNs);
    }
    return starts;
}

} // namespace

RepeatedLaunches::RepeatedLaunches(const ProcessData& process) {
    const std::vector<std::int64_t> eager = eagerStarts(process);
    const Replay* last = nullptr;
    for (const Replay& replay : process.replays) {
        if (replay.result != 0)
            continue;
        const bool again = last != nullptr && replay.execId == last->execId && replay.measured
            && last->measured && process.complete("eager_kernel_activity", last->startNs, replay.startNs + 1);
        const auto between
            = again ? std::lower_bound(eager.begin(), eager.end(), last->startNs) : eager.end();
        if (again && (between == eager.end() || *between >= replay.startNs)) {
            Repeats& repeats = m_byExec[replay.execId];
            repeats.first = repeats.count++ == 0 ? &replay : repeats.first;
        }
        last = &replay;
    }
}

Repeats RepeatedLaunches::of(const Exec& exec) const {
    const auto found = m_byExec.find(exec.execId);
    return found == m_byExec.end() ? Repeats() : found->second;
}

} // namespace gd::facts
