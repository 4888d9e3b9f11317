// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pace.h"

#include <chrono>
#include <random>
#include <thread>

namespace gdt::runtime {

namespace detail {
std::atomic<bool> g_paced{false};
} // namespace detail

namespace {

HostPace g_pace;

} // namespace

void setHostPace(const HostPace& pace) {
    g_pace = pace;
    detail::g_paced.store(pace.overheadUs > 0 || pace.stallProbability > 0, std::memory_order_relaxed);
}

void detail::payHostPace() {
    using Clock = std::chrono::steady_clock;
    // The same stalls in every run of a thread.
    thread_local std::mt19937_64 random(1);
    if (g_pace.stallProbability > 0 && std::bernoulli_distribution(g_pace.stallProbability)(random)) {
        const double ms = std::exponential_distribution(1.0 / g_pace.stallMs)(random);
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    }
    const auto overhead = std::chrono::duration<double, std::micro>(g_pace.overheadUs);
    for (const Clock::time_point start = Clock::now(); Clock::now() - start < overhead;) { }
}

} // namespace gdt::runtime
