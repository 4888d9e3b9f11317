// SPDX-License-Identifier: Apache-2.0
#include "kernels/modelled_transfer.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

namespace gdt::kernels {

namespace {

// A sleep wakes up late by about as much; the rest is waited for awake.
constexpr std::chrono::microseconds kLateness{100};

} // namespace

void ModelledTransfer::host(const Args& args) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(args.delayNs);
    for (std::int64_t part = 0; args.send != nullptr && part < args.parts; ++part) {
        std::byte* to = static_cast<std::byte*>(args.receive) + part * args.bytes;
        if (to != args.send) {
            std::memmove(to, args.send, static_cast<std::size_t>(args.bytes));
        }
    }
    std::this_thread::sleep_until(end - kLateness);
    while (std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
}

} // namespace gdt::kernels
