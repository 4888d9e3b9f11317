// SPDX-License-Identifier: Apache-2.0
// What a hook of a framework tells: blocks of its caching allocator; and what it asks.
#include "collector/session/sink.h"

#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/session/session.h"

namespace gd::session::sink {

namespace {

raw::StackRef stackOf(SessionState& session, const gd_rt_block& block) noexcept {
    constexpr unsigned kDepth = 64;
    raw::PythonFrame frames[kDepth];
    if (block.frames == nullptr || block.frame_count == 0) {
        return 0;
    }
    const unsigned count = block.frame_count < kDepth ? block.frame_count : kDepth;
    for (unsigned i = 0; i < count; ++i) {
        const gd_rt_frame& frame = block.frames[i];
        frames[i] = {session.strings.string(frame.file != nullptr ? frame.file : ""),
            session.strings.string(frame.function != nullptr ? frame.function : ""), frame.line, 0};
    }
    return session.strings.stack(nullptr, 0, frames, count);
}

} // namespace

void frameworkBlock(const gd_rt_block& block) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    raw::FrameworkBlock record{};
    record.timeNs = block.time_ns;
    record.address = block.ptr;
    record.bytes = block.bytes;
    record.stream = block.stream;
    record.pool = block.pool;
    record.stack = stackOf(session, block);
    record.event = static_cast<std::uint16_t>(block.event);
    record.device = static_cast<std::uint16_t>(block.device);
    appendFrequent(session, record, raw::CoverageSource::framework_allocator);
}

void frameworkCoverage(raw::CoverageState state, std::int64_t fromNs, std::string_view reason) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    session.framework.hooked.store(1, std::memory_order_release);
    writeCoverage(session, raw::CoverageSource::framework_allocator, state, reason, fromNs);
}

gd_rt_status frameworkStatus() noexcept {
    const Entry entry; // opens the session: what the hook will tell belongs to it
    gd_rt_status status{};
    status.size = sizeof status;
    status.level = static_cast<std::uint32_t>(level());
    if (const SessionState* session = currentSession(); session != nullptr) {
        status.window = session->framework.window.load(std::memory_order_relaxed);
        status.open_captures = session->openCaptures.load(std::memory_order_relaxed);
        status.open_steps = session->openSteps.load(std::memory_order_relaxed);
        status.flushes = session->framework.flushes.load(std::memory_order_relaxed);
        status.execs = session->framework.execs.load(std::memory_order_relaxed);
        status.replays = session->framework.replays.load(std::memory_order_relaxed);
    }
    return status;
}

} // namespace gd::session::sink
