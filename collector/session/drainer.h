// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"

#include <cstdint>

namespace gd::session {

/// The thread that moves full chunks from the ring to the segment. It looks every 2 ms while there is traffic
/// (less often when there is none) and is woken early only when less than half of the pool is free, because a
/// wake at every chunk costs its writer 40-50 us. It also asks idle threads for their chunks.
class Drainer {
public:
    explicit Drainer(SessionState& session) noexcept
        : m_session(session)
        , m_flushSeen(session.flushWanted.load(std::memory_order_relaxed)) { }
    /// Starts the thread; false when the kernel refuses one.
    bool start() noexcept;
    /// One pass over the pool, for tests and for the thread itself. Returns how many chunks were written.
    unsigned drainOnce() noexcept;

private:
    static void* run(void* self) noexcept;
    void loop() noexcept;
    bool drain(std::uint32_t slot) noexcept;
    bool drainHistory(std::uint32_t slot) noexcept;
    bool drainSlices(std::uint32_t slot) noexcept;
    bool write(const raw::ChunkHeader& header, const char* payload) noexcept;
    bool isHistoryFull(std::uint64_t bytes) noexcept;
    void sayFirstRemoval() noexcept;
    void reclaimIdle(std::int64_t nowNs, bool all) noexcept;
    bool beginFlush(std::int64_t nowNs) noexcept;
    void endFlush(std::int64_t nowNs) noexcept;
    void noteLosses(std::int64_t nowNs) noexcept;

    SessionState& m_session;
    std::uint32_t m_committedBytes[raw::kMaxRingChunks] = {}; ///< history chunks: verified so far
    std::uint64_t m_losses[2] = {};
    std::uint32_t m_flushSeen;
    bool m_isFlushing = false; ///< what was begun before m_flushMark is not all written yet
    Ring::Mark m_flushMark{};
    std::uint32_t m_full[raw::kMaxRingChunks] = {}; ///< scratch of one pass
    bool m_saidRemoval = false;
};

} // namespace gd::session
