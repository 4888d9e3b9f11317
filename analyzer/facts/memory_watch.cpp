// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <algorithm>

namespace gd::facts {
namespace {

// Why the source was not complete all the time, NULL when it was.
std::optional<std::string> gapOf(
    const ProcessData& process, std::string_view source, std::int64_t fromNs, std::int64_t toNs) {
    if (process.complete(source, fromNs, toNs))
        return std::nullopt;
    const auto spans = process.coverage.find(source);
    if (spans != process.coverage.end()) {
        for (const CoverageSpan& span : spans->second) {
            if (span.state != CoverageState::complete && span.fromNs < toNs && span.toNs > fromNs)
                return span.reason.empty() ? fmt::format("{} was not complete", source) : span.reason;
        }
    }
    return fmt::format("{} was not recorded", source);
}

} // namespace

Result<void> buildMemoryWatch(FactContext& context) {
    GD_TRY_ASSIGN(auto insert, context.db.prepare("INSERT INTO memory_watch VALUES (?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        for (const Exec& exec : process.execs) {
            if (exec.replays.empty())
                continue;
            const Replay& last = process.replays[static_cast<std::size_t>(exec.replays.back())];
            const std::int64_t toNs = std::max(exec.createdNs + 1, last.launchStartNs);
            auto why = gapOf(process, "memory", exec.createdNs, toNs);
            if (!why)
                why = gapOf(process, "framework_allocator", exec.createdNs, toNs);
            GD_TRY(insert.runWith(process.processId, exec.execId, exec.createdNs, toNs, why ? 0 : 1, why));
        }
    }
    return {};
}

} // namespace gd::facts
