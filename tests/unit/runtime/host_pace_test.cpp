// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pace.h"

#include "test_kernels.h"

#include <chrono>

namespace gdt::runtime::test {

double secondsOf(OneNumber& t, int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
        EXPECT_EQ(t.stream.memsetAsync(t.number, 0, sizeof(*t.number)), Status::Success);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(HostPace, EveryCallThatQueuesWorkCostsTheHost) {
    OneNumber t;
    setHostPace({2000, 0, 0});
    EXPECT_GE(secondsOf(t, 5), 0.010);
    setHostPace({});
    EXPECT_EQ(t.stream.synchronize(), Status::Success);
}

TEST(HostPace, StallsComeAtTheWantedShareOfCalls) {
    OneNumber t;
    setHostPace({0, 1, 5});
    EXPECT_GE(secondsOf(t, 20), 0.020) << "20 stalls of 5 ms on average";
    setHostPace({});
    EXPECT_EQ(t.stream.synchronize(), Status::Success);
}

} // namespace gdt::runtime::test
