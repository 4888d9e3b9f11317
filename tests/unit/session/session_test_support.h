// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

// What the session tests do in a job and how they read what it left.
namespace gd::session {

/// 4 KiB of device memory.
inline gd_rt_memory memoryAt(std::uint64_t address) {
    gd_rt_memory memory{};
    memory.size = sizeof memory;
    memory.kind = GD_RT_MEMORY_DEVICE;
    memory.ptr = address;
    memory.bytes = 4096;
    return memory;
}

/// A whole driver call of this thread.
inline void call(
    std::uint32_t api, std::int32_t result, std::uint64_t correlation, std::uint64_t stream = 7) {
    gd_rt_api info{};
    info.size = sizeof info;
    info.api = api;
    info.correlation = correlation;
    info.stream = stream;
    sink::apiEnter(info);
    sink::apiExit(info, result);
}

/// What the process that made the spool's segment number `index` recorded.
inline test::RawSpool read(const test::SpoolBuilder& spool, std::size_t index = 0) {
    const std::vector<std::string> segments = spool.segments();
    const std::string segment = index < segments.size() ? segments[index] : std::string();
    return test::RawSpool(segment, test::SpoolBuilder::ringOf(segment));
}

/// Waits (in a child) until the collector's thread has done something, at least a minute before it gives up.
template <class Condition> bool eventually(Condition condition) {
    for (int i = 0; i < 60'000; ++i) {
        if (condition()) {
            return true;
        }
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    return false;
}

} // namespace gd::session
