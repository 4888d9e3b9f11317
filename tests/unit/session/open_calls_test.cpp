// SPDX-License-Identifier: Apache-2.0
// Calls of threads beside each other's: captures that others launch beside, exits that never come.
#include "collector/session/sink.h"

#include "collector/raw/records_api.h"
#include "collector/session/hooks.h"
#include "tests/unit/session/session_test_support.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

gd_rt_api launchNumber(std::uint64_t correlation) {
    gd_rt_api info{};
    info.size = sizeof info;
    info.api = GD_API_LAUNCH_KERNEL;
    info.correlation = correlation;
    info.stream = 7;
    return info;
}

} // namespace

// Each launch beside an open capture asks which streams capture; new streams make that table move. Without a
// lock the moment is short: ThreadSanitizer sees it each time, this alone now and then.
TEST(OpenCalls, LaunchesBesideACaptureWhileStreamsAreCreated) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([] {
        call(GD_API_STREAM_BEGIN_CAPTURE, 0, 1, 7);
        std::atomic<bool> done{false};
        std::thread launches([&done] {
            for (std::uint64_t i = 2; !done; ++i) {
                call(GD_API_LAUNCH_KERNEL, 0, i, 9);
            }
        });
        gd_rt_object stream{};
        stream.size = sizeof stream;
        for (stream.id = 10; stream.id < 300'000; ++stream.id) {
            sink::stream(GD_RT_CREATED, stream);
        }
        done = true;
        launches.join();
    }),
        0);
}

// Launches are followed while captures are open. A thread that is inside one when the last capture ends never
// comes out of it.
TEST(OpenCalls, LostExitsOfLaunchesDoNotHideLaterCalls) {
    static std::atomic<std::uint64_t> walks{0};
    static constexpr StackWalker kWalker{[](std::uint64_t* addresses, unsigned) noexcept {
                                             addresses[0] = ++walks;
                                             return 1U;
                                         },
        nullptr};
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        setStackWalker(&kWalker);
        for (std::uint64_t i = 1; i <= 20; ++i) {
            sink::apiEnter(launchNumber(i));
        }
        gd_rt_api synchronize{};
        synchronize.size = sizeof synchronize;
        synchronize.api = GD_API_DEVICE_SYNCHRONIZE;
        for (synchronize.correlation = 100; synchronize.correlation < 102; ++synchronize.correlation) {
            sink::apiEnter(synchronize);
            const timespec pause{0, 1'000'000};
            nanosleep(&pause, nullptr);
            sink::apiExit(synchronize, 0);
        }
    }),
        0);
    const RawSpool raw = read(spool);
    std::vector<raw::ApiCall> calls = raw.eventsOf<raw::ApiCall>();
    ASSERT_EQ(calls.size(), 2u);
    for (const raw::ApiCall& recorded : calls) {
        EXPECT_GE(recorded.endNs - recorded.startNs, 1'000'000);
    }
    EXPECT_NE(calls[0].stack, 0u);
}

} // namespace gd::session
