// SPDX-License-Identifier: Apache-2.0
// When CUPTI is flushed: with kernel records on, graphs launched after a flush that came between their
// instantiate and their first launch have faulted on a device (docs/measurements.md).
#include "collector/cupti/activity.h"
#include "collector/session/sink.h"
#include "tests/support/spool_builder.h"
#include "tests/unit/cupti/fake_driver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace {

using namespace gd;
using namespace gd::test;
using cupti::Activity;

const CUstream kStream = handle<CUstream>(0x5000);
constexpr std::int64_t kPeriodNs = 600'000'000; // longer than that of the flushes
int g_flushes = 0;

cupti::CuptiApi fakeActivity() {
    cupti::CuptiApi api = fakeCupti();
    api.getVersion = [](std::uint32_t* version) {
        *version = 130001;
        return CUPTI_SUCCESS;
    };
    api.activityEnable = [](CUpti_ActivityKind) { return CUPTI_SUCCESS; };
    api.activityDisable = [](CUpti_ActivityKind) { return CUPTI_SUCCESS; };
    api.activityRegisterCallbacks
        = [](CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) { return CUPTI_SUCCESS; };
    api.activityRegisterTimestampCallback = [](CUpti_TimestampCallbackFunc) { return CUPTI_SUCCESS; };
    api.activityGetNextRecord
        = [](std::uint8_t*, std::size_t, CUpti_Activity**) { return CUPTI_ERROR_MAX_LIMIT_REACHED; };
    api.activityFlushAll = [](std::uint32_t) {
        ++g_flushes;
        return CUPTI_SUCCESS;
    };
    return api;
}

// A process with device activity; its clock stands still but for the looks of the collector's own thread.
class Job {
public:
    Job() {
        cupti::setCuptiApi(fakeActivity());
        EXPECT_TRUE(Activity::instance().start());
        Activity::instance().setLevel(raw::RecordingLevel::Standard);
        driver.createStream(kStream, 0);
    }
    void instantiate(std::uint64_t graph, std::uint64_t exec) {
        driver.graphCreated(graph);
        driver.instantiate(graph, exec, {CU_GRAPH_NODE_TYPE_MEMSET}, 0);
    }
    void launch(std::uint64_t exec) {
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
            cuGraphLaunch_params{handle<CUgraphExec>(exec << 8), kStream});
    }
    int flushesOfALook() {
        m_nowNs += kPeriodNs;
        g_flushes = 0;
        Activity::instance().tick(m_nowNs);
        return g_flushes;
    }
    void wait(std::int64_t ns) { m_nowNs += ns; }

    Driver driver;

private:
    std::int64_t m_nowNs = session::sink::nowNs();
};

void inAJob(const std::function<void(Job&)>& body) {
    SpoolBuilder builder;
    EXPECT_EQ(builder.run([&] {
        Job job;
        body(job);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }),
        0);
}

TEST(Flush, WaitsForTheFirstLaunchOfAProcess) {
    inAJob([](Job& job) {
        EXPECT_EQ(job.flushesOfALook(), 0);
        job.instantiate(1, 2);
        EXPECT_EQ(job.flushesOfALook(), 0);
        job.launch(2);
        EXPECT_EQ(job.flushesOfALook(), 1);
        EXPECT_EQ(job.flushesOfALook(), 1);
    });
}

// As where each device has a thread of its own that makes and launches its graphs.
TEST(Flush, WaitsForTheFirstLaunchOfEachExecutable) {
    inAJob([](Job& job) {
        job.instantiate(1, 2);
        job.launch(2);
        std::thread([&] { job.instantiate(4, 5); }).join();
        job.launch(2);
        EXPECT_EQ(job.flushesOfALook(), 0);
        Activity::instance().flush();
        EXPECT_EQ(g_flushes, 0);
        job.launch(5);
        EXPECT_EQ(job.flushesOfALook(), 1);
    });
}

TEST(Flush, WaitsNoLongerForAnExecutableThatIsGone) {
    inAJob([](Job& job) {
        job.instantiate(1, 2);
        job.launch(2);
        job.instantiate(4, 5);
        EXPECT_EQ(job.flushesOfALook(), 0);
        job.driver.execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, 0, 5);
        EXPECT_EQ(job.flushesOfALook(), 1);
    });
}

TEST(Flush, DoesNotWaitForEverForAnExecutableThatNobodyLaunches) {
    inAJob([](Job& job) {
        job.instantiate(1, 2);
        job.launch(2);
        job.instantiate(4, 5);
        EXPECT_EQ(job.flushesOfALook(), 0);
        job.wait(60'000'000'000);
        EXPECT_EQ(job.flushesOfALook(), 1);
    });
}

// What comes on waits for the records of what went off; those wait for the launch.
TEST(Flush, OfASwitchWaitsAsWell) {
    inAJob([](Job& job) {
        Activity& activity = Activity::instance();
        cupti::DriverApi api;
        api.streamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
            *status = CU_STREAM_CAPTURE_STATUS_NONE;
            return CUDA_SUCCESS;
        };
        api.streamQuery = [](CUstream) { return CUDA_SUCCESS; };
        cupti::setDriverApi(api);
        const auto idle = [&] {
            job.driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kStream});
        };
        job.instantiate(1, 2);
        job.launch(2);
        activity.setLevel(raw::RecordingLevel::History);
        idle();
        activity.setLevel(raw::RecordingLevel::Standard);
        job.instantiate(4, 5);
        idle();
        EXPECT_EQ(job.flushesOfALook(), 0);
        job.launch(5);
        idle();
        EXPECT_GE(job.flushesOfALook(), 1);
    });
}

} // namespace
