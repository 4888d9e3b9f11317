// SPDX-License-Identifier: Apache-2.0
#include "runtime/watched_call.h"

#include <unistd.h>

namespace gdt::runtime {

namespace {

void stopIfClosed(const CallBoard& board) {
    while (board.closed.load(std::memory_order_acquire))
        ::pause();
}

} // namespace

CallBoard*& callBoard() {
    thread_local CallBoard* board = nullptr;
    return board;
}

// One thread writes a board, so what it reads there is its own.
WatchedCall::WatchedCall(const char* call, std::int64_t limitNs)
    : m_board(callBoard()) {
    if (m_board == nullptr)
        return;
    stopIfClosed(*m_board);
    m_outerCall = m_board->call.load(std::memory_order_relaxed);
    m_outerLimitNs = m_board->limitNs.load(std::memory_order_relaxed);
    m_board->entered.store(m_board->entered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    m_board->limitNs.store(limitNs, std::memory_order_relaxed);
    m_board->call.store(call, std::memory_order_release);
}

WatchedCall::~WatchedCall() {
    if (m_board == nullptr)
        return;
    stopIfClosed(*m_board);
    m_board->limitNs.store(m_outerLimitNs, std::memory_order_relaxed);
    m_board->call.store(m_outerCall, std::memory_order_release);
}

} // namespace gdt::runtime
