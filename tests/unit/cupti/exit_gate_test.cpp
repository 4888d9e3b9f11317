// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/exit_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gd::cupti {
namespace {

// Time that passes by itself, a millisecond a look: no test waits for a clock.
std::atomic<std::int64_t> g_nowNs{0};
std::int64_t clockNs() noexcept {
    return g_nowNs.fetch_add(1'000'000);
}

TEST(ExitGate, IsOpenUntilTheEnd) {
    ExitGate gate;
    {
        const GatePass first(gate);
        const GatePass second(gate);
        EXPECT_TRUE(first);
        EXPECT_TRUE(second);
    }
    EXPECT_TRUE(gate.close(10'000'000, clockNs));
    const GatePass late(gate);
    EXPECT_FALSE(late);
}

TEST(ExitGate, GivesUpOnWhoNeverComesOut) {
    ExitGate gate;
    const GatePass stuck(gate);
    EXPECT_FALSE(gate.close(10'000'000, clockNs));
    EXPECT_FALSE(GatePass(gate));
}

// Whoever got in is out again before close() says so.
TEST(ExitGate, NobodyIsInsideOnceItIsClosed) {
    for (int round = 0; round < 200; ++round) {
        ExitGate gate;
        std::atomic<bool> closed{false};
        std::atomic<int> late{0};
        std::atomic<int> begun{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] {
                for (bool open = true; open;) {
                    const GatePass pass(gate);
                    open = static_cast<bool>(pass);
                    late += open && closed.load() ? 1 : 0;
                    ++begun;
                }
            });
        }
        while (begun.load() < 3) {
            std::this_thread::yield();
        }
        const bool empty = gate.close(INT64_MAX / 2, []() noexcept -> std::int64_t { return 0; });
        closed.store(true);
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_TRUE(empty);
        EXPECT_EQ(late.load(), 0);
    }
}

} // namespace
} // namespace gd::cupti
