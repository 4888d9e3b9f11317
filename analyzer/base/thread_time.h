// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace gd::base {

// Processor time that the calling thread has used. Limits on queries are in it: on a busy machine a query
// takes longer and is as good.
inline std::chrono::nanoseconds threadTime() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

} // namespace gd::base
