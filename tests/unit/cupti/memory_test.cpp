// SPDX-License-Identifier: Apache-2.0
// Memory calls as the driver announces them, and the records that come of them.
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"
#include "tests/unit/cupti/fake_driver.h"

#include <gtest/gtest.h>

namespace {

using namespace gd;
using namespace gd::test;

const CUmemoryPool kPool = handle<CUmemoryPool>(0x6000);
const CUmemoryPool kDefaultPool = handle<CUmemoryPool>(0x6100);

/// What the made-up driver was asked, in order.
std::string g_asked;
CUstreamCaptureMode g_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

cupti::DriverApi memoryDriver() {
    cupti::DriverApi api;
    api.deviceGet = [](CUdevice* device, int ordinal) {
        *device = ordinal;
        return CUDA_SUCCESS;
    };
    api.threadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
        std::swap(*mode, g_mode);
        return CUDA_SUCCESS;
    };
    api.memGetInfo = [](std::size_t* free, std::size_t* total) {
        g_asked += g_mode == CU_STREAM_CAPTURE_MODE_RELAXED ? "m" : "M";
        *free = 100;
        *total = 1000;
        return CUDA_SUCCESS;
    };
    api.deviceGetGraphMemAttribute = [](CUdevice device, CUgraphMem_attribute which, void* out) {
        EXPECT_EQ(device, 3);
        EXPECT_EQ(which, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
        *static_cast<cuuint64_t*>(out) = 32;
        return CUDA_SUCCESS;
    };
    api.deviceGetMemPool = [](CUmemoryPool* pool, CUdevice) {
        *pool = kDefaultPool;
        return CUDA_SUCCESS;
    };
    api.memPoolGetAttribute = [](CUmemoryPool pool, CUmemPool_attribute which, void* out) {
        const cuuint64_t base = pool == kPool ? 7000 : 9000;
        *static_cast<cuuint64_t*>(out) = base + (which == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? 1 : 2);
        return CUDA_SUCCESS;
    };
    return api;
}

TEST(MemoryCalls, OneUnmapMayEndSeveralMappings) {
    const RawSpool spool = record([] {
        Driver driver;
        const cuMemMap_params first{0x10000, 0x1000, 0, 1, 0};
        const cuMemMap_params second{0x11000, 0x1000, 0, 2, 0};
        const cuMemMap_params third{0x12000, 0x1000, 0, 3, 0};
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, first);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, second);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, third);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemUnmap, cuMemUnmap_params{0x10000, 0x2000});
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 3U);
    EXPECT_EQ(allocs[0].kind, GD_RT_MEMORY_VMM);
    const auto frees = spool.historyOf<raw::Free>();
    ASSERT_EQ(frees.size(), 2U);
    EXPECT_EQ(frees[0].allocation, allocs[0].allocation);
    EXPECT_EQ(frees[1].allocation, allocs[1].allocation);
    EXPECT_EQ(frees[1].address, 0x11000U);
}

TEST(MemoryCalls, MappedMemoryLiesWhereItWasMade) {
    const RawSpool spool = record([] {
        Driver driver;
        CUmemAllocationProp prop{};
        prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {5}};
        CUmemGenericAllocationHandle made = 77;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, cuMemCreate_params{&made, 0x1000, &prop, 0});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, cuMemMap_params{0x10000, 0x1000, 0, 77, 0});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemRelease, cuMemRelease_params{77});
        prop.location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, cuMemCreate_params{&made, 0x1000, &prop, 0});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, cuMemMap_params{0x20000, 0x1000, 0, 77, 0});
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 2U);
    EXPECT_EQ(allocs[0].device, 5U); // the current context's device is 3
    EXPECT_EQ(allocs[0].kind, GD_RT_MEMORY_VMM);
    EXPECT_EQ(allocs[1].kind, GD_RT_MEMORY_HOST_PINNED);
    EXPECT_TRUE(spool.historyOf<raw::Free>().empty()); // a release ends no mapping
}

TEST(MemoryCalls, HostMemoryIsFollowed) {
    const RawSpool spool = record([] {
        Driver driver;
        void* pinned = handle<void*>(0x30000);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2, cuMemAllocHost_v2_params{&pinned, 64});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost, cuMemFreeHost_params{pinned});
        void* mapped = handle<void*>(0x40000);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, cuMemHostAlloc_params{&mapped, 128, 0});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
            cuMemHostRegister_v2_params{handle<void*>(0x50000), 256, 0});
        driver.both(
            CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister, cuMemHostUnregister_params{handle<void*>(0x50000)});
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 3U);
    EXPECT_EQ(allocs[0].kind, GD_RT_MEMORY_HOST_PINNED);
    EXPECT_EQ(allocs[1].bytes, 128U);
    EXPECT_EQ(allocs[2].kind, GD_RT_MEMORY_HOST_REGISTERED);
    EXPECT_EQ(allocs[2].address, 0x50000U);
    const auto frees = spool.historyOf<raw::Free>();
    ASSERT_EQ(frees.size(), 2U);
    EXPECT_EQ(frees[0].allocation, allocs[0].allocation);
    EXPECT_EQ(frees[1].allocation, allocs[2].allocation);
}

TEST(MemoryCalls, APitchedAllocationIsAsLargeAsItsRows) {
    const RawSpool spool = record([] {
        Driver driver;
        CUdeviceptr address = 0x7000;
        std::size_t pitch = 512;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
            cuMemAllocPitch_v2_params{&address, &pitch, 100, 4, 4});
    });
    ASSERT_EQ(spool.historyOf<raw::Alloc>().size(), 1U);
    EXPECT_EQ(spool.historyOf<raw::Alloc>()[0].bytes, 2048U);
}

TEST(MemoryCalls, PoolsHaveNumbersAndSizes) {
    const RawSpool spool = record([] {
        Driver driver;
        cupti::setDriverApi(memoryDriver());
        CUmemPoolProps props{};
        props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {6}};
        CUmemoryPool made = kPool;
        CUdeviceptr address = 0x7000;
        for (int i = 0; i < 2; ++i) { // the handle is recycled
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemPoolCreate, cuMemPoolCreate_params{&made, &props});
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
                cuMemAllocFromPoolAsync_params{&address, 64, kPool, kStream});
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, cuMemFreeAsync_params{address, kStream});
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemPoolDestroy, cuMemPoolDestroy_params{kPool});
        }
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, cuMemAllocAsync_params{&address, 64, kStream});
    });
    const auto pools = spool.historyOf<raw::MemoryPool>();
    ASSERT_EQ(pools.size(), 7U);
    const auto is = [&](std::size_t i, std::uint64_t pool, raw::Life life, std::uint16_t device) {
        EXPECT_EQ(pools[i].pool, pool) << i;
        EXPECT_EQ(pools[i].life, static_cast<std::uint16_t>(life)) << i;
        EXPECT_EQ(pools[i].device, device) << i;
    };
    is(0, 1, raw::Life::Created, 6);
    EXPECT_EQ(pools[0].known, 0U); // not asked yet: not the same as empty
    is(1, 1, raw::Life::Updated, 6);
    EXPECT_EQ(pools[1].known, raw::kKnowsReserved | raw::kKnowsUsed);
    EXPECT_EQ(pools[1].reservedBytes, 7002U);
    EXPECT_EQ(pools[1].usedBytes, 7001U);
    is(2, 1, raw::Life::Destroyed, 6);
    is(3, 2, raw::Life::Created, 6);
    is(5, 2, raw::Life::Destroyed, 6);
    is(6, 3, raw::Life::Updated, 3); // the device's own pool, which no call made
    EXPECT_EQ(pools[6].reservedBytes, 9002U);
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 3U);
    EXPECT_EQ(allocs[0].pool, 1U);
    EXPECT_EQ(allocs[0].device, 6U);
    EXPECT_EQ(allocs[2].pool, 3U);
}

TEST(MemoryCalls, DeviceMemoryIsLookedAtOutsideCapturesAndNotTooOften) {
    const RawSpool spool = record([] {
        Driver driver;
        cupti::setDriverApi(memoryDriver());
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        CUdeviceptr address = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 256}, 900);
        driver.endCapture(kStream, 1, 901);
        EXPECT_EQ(g_asked, "");
        for (int i = 0; i < 50; ++i) {
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 256});
        }
        EXPECT_EQ(g_asked, "m") << "once in 250 ms, with the thread's mode relaxed";
        EXPECT_EQ(g_mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "given back";
        if (testing::Test::HasFailure()) {
            _exit(1);
        }
    });
    const auto samples = spool.historyOf<raw::MemorySample>();
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].freeBytes, 100U);
    EXPECT_EQ(samples[0].totalBytes, 1000U);
    EXPECT_EQ(samples[0].device, 3U);
    EXPECT_EQ(samples[0].known, raw::kKnowsReserved);
    EXPECT_EQ(samples[0].graphReservedBytes, 32U);
}

TEST(MemoryCalls, AContextTakesItsMemoryAlong) {
    const RawSpool spool = record([] {
        Driver driver;
        CUdeviceptr own = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&own, 256});
        driver.setContext(handle<CUcontext>(0xd0));
        CUdeviceptr other = 0x8000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&other, 256});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemMap, cuMemMap_params{0x10000, 0x1000, 0, 1, 0});
        driver.contextDestroyed(); // cudaDeviceReset() makes no call for each allocation
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 3U);
    const auto frees = spool.historyOf<raw::Free>();
    ASSERT_EQ(frees.size(), 1U);
    EXPECT_EQ(frees[0].allocation, allocs[1].allocation);
}

TEST(MemoryCalls, AnAllocationNodeAddedByHandIsTheGraphsMemory) {
    const RawSpool spool = record([] {
        Driver driver;
        cupti::DriverApi api;
        api.graphMemAllocNodeGetParams = [](CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
            out->dptr = 0x9000;
            out->bytesize = 512;
            return CUDA_SUCCESS;
        };
        cupti::setDriverApi(api);
        const cuGraphAddMemAllocNode_params params{nullptr, graph(7), nullptr, 0, nullptr};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemAllocNode, params);
        driver.nodeStarting(7, 0, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
        driver.nodeCreated(7, 0);
        driver.exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemAllocNode, params);
    });
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 1U);
    EXPECT_EQ(allocs[0].kind, GD_RT_MEMORY_GRAPH);
    EXPECT_EQ(allocs[0].address, 0x9000U);
    EXPECT_EQ(allocs[0].bytes, 512U);
}

} // namespace
