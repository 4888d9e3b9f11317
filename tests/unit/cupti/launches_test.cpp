// SPDX-License-Identifier: Apache-2.0
// Eager launches and what they pass by value, from the start to the first replay.
#include "collector/raw/records_activity.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"
#include "tests/unit/cupti/fake_driver.h"

#include <gtest/gtest.h>

namespace {

using namespace gd;
using namespace gd::test;

const CUfunction kFunction = handle<CUfunction>(0xf1);
const CUfunction kKernel = handle<CUfunction>(0xf2); // a CUkernel, as the runtime passes them

/// As seen on a device: each call takes one kind of handle and refuses the other with 400. Both kernels take
/// a pointer and a float.
cupti::DriverApi launchDriver() {
    cupti::DriverApi api;
    static const auto info = [](std::size_t index, std::size_t* offset, std::size_t* bytes) {
        *offset = index * 8;
        *bytes = index == 0 ? 8 : 4;
        return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    api.funcGetParamInfo = [](CUfunction f, std::size_t index, std::size_t* offset, std::size_t* bytes) {
        return f == kFunction ? info(index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
    };
    api.kernelGetParamInfo = [](CUkernel k, std::size_t index, std::size_t* offset, std::size_t* bytes) {
        return k == reinterpret_cast<CUkernel>(kKernel) ? info(index, offset, bytes)
                                                        : CUDA_ERROR_INVALID_HANDLE;
    };
    api.funcGetName = [](const char** name, CUfunction f) {
        *name = "byFunction";
        return f == kFunction ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
    api.kernelGetName = [](const char** name, CUkernel k) {
        *name = "byKernel";
        return k == reinterpret_cast<CUkernel>(kKernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
    return api;
}

void launch(Driver& driver, CUfunction function, CUdeviceptr data, float factor, int result = 0) {
    void* params[] = {&data, &factor};
    driver.both(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
        cuLaunchKernel_params{function, 4, 1, 1, 128, 1, 1, 0, kStream, params, nullptr}, result);
}

bool launchesFollowed() {
    return g_enabled[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel];
}

TEST(EagerLaunches, TellTheirScalarsOnceForEachSet) {
    const RawSpool spool = record([] {
        Driver driver;
        cupti::setDriverApi(launchDriver());
        CUdeviceptr data = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&data, 256});
        driver.createStream(kStream, 0);
        launch(driver, kKernel, data, 1.0F);
        launch(driver, kKernel, data + 16, 1.0F);
        launch(driver, kFunction, data, 2.0F);
        launch(driver, kFunction, data, 3.0F, 700); // never ran
    });
    const auto launches = spool.historyOf<raw::EagerLaunch>();
    ASSERT_EQ(launches.size(), 3U);
    EXPECT_EQ(launches[0].shape, launches[1].shape);
    EXPECT_NE(launches[0].shape, launches[2].shape);
    EXPECT_EQ(launches[0].scalars, launches[1].scalars) << "the pointer is no scalar";
    EXPECT_NE(launches[0].scalars, launches[2].scalars);
    EXPECT_EQ(launches[0].stream, 13U);
    EXPECT_NE(launches[0].scalars, 0U);
    unsigned sets = 0;
    for (const RawRecord& one : spool.history) {
        if (one.kind == raw::RecordKind::ScalarSet) {
            const auto set = one.as<raw::ScalarSet>();
            const std::string tail = one.tail<raw::ScalarSet>(sizeof(raw::ScalarWord));
            raw::ScalarWord word{};
            std::memcpy(&word, tail.data(), sizeof word);
            EXPECT_EQ(set.count, 1U);
            EXPECT_EQ(word.param, 1U);
            EXPECT_EQ(word.bytes, 4U);
            EXPECT_EQ(word.value, ++sets == 1 ? 0x3f800000U : 0x40000000U); // 1.0f, 2.0f
        }
    }
    EXPECT_EQ(sets, 2U);
    EXPECT_EQ(spool.string(spool.historyOf<raw::KernelShape>().at(0).name), "byKernel");
    EXPECT_EQ(spool.string(spool.historyOf<raw::KernelShape>().at(1).name), "byFunction");
}

TEST(EagerLaunches, AreFollowedUntilTheFirstReplayAndLaterOnlyInCaptures) {
    const RawSpool spool = record([] {
        Driver driver;
        cupti::setDriverApi(launchDriver());
        Client& client = Client::instance();
        EXPECT_TRUE(client.subscribe());
        client.setLevel(raw::RecordingLevel::Standard);
        EXPECT_TRUE(launchesFollowed());
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        launch(driver, kKernel, 0, 1.0F); // becomes a node: its parameters are the node's
        driver.endCapture(kStream, 1);
        EXPECT_TRUE(launchesFollowed());
        driver.instantiate(1, 2, {CU_GRAPH_NODE_TYPE_MEMSET}, 0);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
            cuGraphLaunch_params{handle<CUgraphExec>(2 << 8), kStream});
        EXPECT_FALSE(launchesFollowed());
        launch(driver, kKernel, 0, 2.0F); // nobody would call us
        driver.beginCapture(kStream, 3);
        EXPECT_TRUE(launchesFollowed());
        driver.endCapture(kStream, 3);
        EXPECT_FALSE(launchesFollowed());
        if (testing::Test::HasFailure()) {
            _exit(1);
        }
    });
    EXPECT_TRUE(spool.historyOf<raw::EagerLaunch>().empty());
    std::vector<std::uint32_t> states;
    for (const auto& one : spool.historyOf<raw::Coverage>()) {
        if (one.source == static_cast<std::uint32_t>(raw::CoverageSource::launch_callbacks)) {
            states.push_back(one.state);
        }
    }
    ASSERT_FALSE(states.empty());
    EXPECT_EQ(states.back(), static_cast<std::uint32_t>(raw::CoverageState::Partial));
}

// Streams with replays are asked again when the level comes back: their ends must not be missed meanwhile.
TEST(Level, OffFollowsWhatEndsStreams) {
    record([] {
        Driver driver;
        driver.createStream(kStream, 0);
        Client& client = Client::instance();
        EXPECT_TRUE(client.subscribe());
        client.setLevel(raw::RecordingLevel::Standard);
        client.setLevel(raw::RecordingLevel::Off);
        for (const auto id :
            {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
                CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch}) {
            EXPECT_TRUE(g_enabled[id]) << id;
        }
        EXPECT_FALSE(g_enabled[CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize]);
        if (testing::Test::HasFailure()) {
            _exit(1);
        }
    });
}

} // namespace
