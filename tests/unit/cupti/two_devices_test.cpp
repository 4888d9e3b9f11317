// SPDX-License-Identifier: Apache-2.0
// One process with contexts on two devices: whose memory, whose streams.
#include "collector/raw/records_api.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"
#include "tests/unit/cupti/fake_driver.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace gd;
using namespace gd::test;

const CUcontext kFirst = handle<CUcontext>(0xc0); // on device 0
const CUcontext kSecond = handle<CUcontext>(0xd0); // on device 1
const CUstream kOther = handle<CUstream>(0x5100); // in the second context; kStream is in the first

CUcontext g_current;

// A driver that knows which context is current.
class TwoDevices : public Driver {
public:
    TwoDevices() {
        cupti::CuptiApi api = fakeCupti();
        api.getDeviceId = [](CUcontext context, std::uint32_t* device) {
            *device = context == kSecond ? 1 : 0;
            return CUPTI_SUCCESS;
        };
        api.getStreamIdEx = [](CUcontext, CUstream, std::uint8_t, std::uint32_t* id) {
            *id = 13; // numbers count per context
            return CUPTI_SUCCESS;
        };
        cupti::setCuptiApi(api);
        cupti::DriverApi driver;
        driver.deviceGet = [](CUdevice* device, int ordinal) {
            *device = ordinal;
            return CUDA_SUCCESS;
        };
        driver.memGetInfo = [](std::size_t* free, std::size_t* total) {
            *free = g_current == kSecond ? 11 : 10;
            *total = 100;
            return CUDA_SUCCESS;
        };
        driver.deviceGetMemPool = [](CUmemoryPool* pool, CUdevice device) {
            *pool = handle<CUmemoryPool>(0x6000 + static_cast<std::uint64_t>(device));
            return CUDA_SUCCESS;
        };
        cupti::setDriverApi(driver);
        use(kSecond);
        createStream(kOther, CU_STREAM_NON_BLOCKING);
        use(kFirst);
        createStream(kStream, CU_STREAM_NON_BLOCKING);
    }
    void use(CUcontext context) {
        g_current = context;
        setContext(context);
    }
};

TEST(TwoDevices, AStreamsDeviceIsItsContextsWhicheverIsCurrent) {
    const RawSpool spool = record([] {
        TwoDevices driver;
        CUdeviceptr address = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, cuMemAllocAsync_params{&address, 64, kStream});
        address = 0x8000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, cuMemAllocAsync_params{&address, 64, kOther});
        address = 0x9000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 64});
        driver.use(kSecond);
        address = 0xa000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 64});
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 4U);
    EXPECT_EQ(allocs[0].device, 0U);
    EXPECT_EQ(allocs[1].device, 1U) << "from the pool of the stream's device, though the other is current";
    EXPECT_NE(allocs[1].pool, allocs[0].pool);
    EXPECT_NE(allocs[1].stream, allocs[0].stream) << "CUPTI's numbers count per context";
    EXPECT_EQ(allocs[2].device, 0U);
    EXPECT_EQ(allocs[3].device, 1U);
}

TEST(TwoDevices, ASampleIsOfTheDeviceThatTheDriverWasAskedAbout) {
    const RawSpool spool = record([] {
        TwoDevices driver;
        // On the first device, waiting for work on the second.
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kOther});
        driver.use(kSecond);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kOther});
    });
    const auto samples = spool.historyOf<raw::MemorySample>();
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[0].device, 0U);
    EXPECT_EQ(samples[0].freeBytes, 10U);
    EXPECT_EQ(samples[1].device, 1U);
    EXPECT_EQ(samples[1].freeBytes, 11U);
}

TEST(TwoDevices, OnesEndLeavesTheOthersMemoryAndStreams) {
    const RawSpool spool = record([] {
        TwoDevices driver;
        CUdeviceptr address = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 64});
        driver.use(kSecond);
        address = 0x8000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 64});
        driver.contextDestroyed();
        driver.use(kFirst);
        // Handles of the context that has gone come back for something new.
        driver.createStream(kOther, CU_STREAM_NON_BLOCKING);
        address = 0x9000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, cuMemAllocAsync_params{&address, 64, kOther});
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    const auto frees = spool.historyOf<raw::Free>();
    ASSERT_EQ(allocs.size(), 3U);
    ASSERT_EQ(frees.size(), 1U);
    EXPECT_EQ(frees[0].allocation, allocs[1].allocation);
    EXPECT_EQ(allocs[2].device, 0U);
}

} // namespace
