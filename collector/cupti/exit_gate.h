// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/system.h"

#include <atomic>
#include <cstdint>

namespace gd::cupti {

/// Between the collector's own threads, which call into CUPTI at any time, and the end of the process, in
/// which the destructors of CUPTI and of the driver run: a call into them then would end the job in a crash.
class ExitGate {
public:
    /// False: the process ends, the caller must stay out of CUPTI. True: leave() follows.
    bool enter() noexcept {
        m_inside.fetch_add(1, std::memory_order_seq_cst);
        if (m_closed.load(std::memory_order_seq_cst)) {
            leave();
            return false;
        }
        return true;
    }
    void leave() noexcept {
        m_inside.fetch_sub(1, std::memory_order_seq_cst);
        if (m_closed.load(std::memory_order_seq_cst)) {
            session::wakeAll(m_inside);
        }
    }
    /// Nobody enters from here on. Waits until nobody is inside, at most `ns` on the clock `nowNs`; returns
    /// whether it is so.
    bool close(std::int64_t ns, std::int64_t (*nowNs)() noexcept) noexcept {
        m_closed.store(true, std::memory_order_seq_cst);
        const std::int64_t until = nowNs() + ns;
        for (std::int64_t now = until - ns; now < until; now = nowNs()) {
            const std::uint32_t inside = m_inside.load(std::memory_order_seq_cst);
            if (inside == 0) {
                return true;
            }
            session::waitWhile(m_inside, inside, until - now);
        }
        return m_inside.load(std::memory_order_seq_cst) == 0;
    }

private:
    std::atomic<std::uint32_t> m_inside{0};
    std::atomic<bool> m_closed{false};
};

/// Inside a gate for a scope, if it is open.
class GatePass {
public:
    explicit GatePass(ExitGate& gate) noexcept
        : m_gate(gate)
        , m_inside(gate.enter()) { }
    ~GatePass() {
        if (m_inside) {
            m_gate.leave();
        }
    }
    GatePass(const GatePass&) = delete;
    GatePass& operator=(const GatePass&) = delete;
    explicit operator bool() const noexcept { return m_inside; }

private:
    ExitGate& m_gate;
    const bool m_inside;
};

} // namespace gd::cupti
