// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/call_arguments.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace {

using gd::cupti::CallArguments;
using gd::cupti::decodeArguments;
using gd::cupti::DefaultStream;
using gd::cupti::followedCall;
using gd::cupti::followedCalls;

struct Call {
    gd_api_id api;
    std::string driverName;
};

const Call kAllCalls[] = {
#define GD_TEST_CALL(number, name, driver, runtime, klass) {GD_API_##name, driver},
    GD_API_CALLS(GD_TEST_CALL)
#undef GD_TEST_CALL
};

template <class Handle> Handle handle(std::uintptr_t value) {
    return reinterpret_cast<Handle>(value);
}

TEST(CallTable, EveryFollowedDriverCallHasACallbackId) {
    std::set<gd_api_id> covered;
    std::size_t count = 0;
    const auto* calls = followedCalls(count);
    for (std::size_t i = 0; i < count; ++i) {
        covered.insert(calls[i].api);
    }
    for (const auto& call : kAllCalls) {
        EXPECT_EQ(covered.count(call.api) != 0, !call.driverName.empty()) << call.driverName;
    }
}

TEST(CallTable, FoldsVersionsIntoTheCallTheyAreNamedAfter) {
    std::set<std::string> names;
    for (const auto& call : kAllCalls) {
        names.insert(call.driverName);
    }
    std::set<unsigned> ids;
    std::size_t count = 0;
    const auto* calls = followedCalls(count);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(ids.insert(calls[i].id).second) << calls[i].name << " appears twice";
        EXPECT_EQ(followedCall(calls[i].id), calls[i].api) << calls[i].name;
        std::string folded = calls[i].name;
        for (const char* suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"}) {
            const auto at = folded.rfind(suffix);
            if (at != std::string::npos && at + std::string(suffix).size() == folded.size()) {
                folded.resize(at);
            }
        }
        // A function whose own name is in the list must stand for that entry.
        for (const auto& call : kAllCalls) {
            if (call.driverName == folded) {
                EXPECT_EQ(calls[i].api, call.api) << calls[i].name;
            }
        }
    }
}

TEST(CallTable, KnowsNothingAboutOtherCallbacks) {
    EXPECT_EQ(followedCall(CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount), GD_API_NONE);
    EXPECT_EQ(followedCall(0), GD_API_NONE);
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount, nullptr).api, GD_API_NONE);
}

TEST(CallArguments, BeginCaptureHasStreamAndMode) {
    cuStreamBeginCapture_v2_params params{handle<CUstream>(0x1000), CU_STREAM_CAPTURE_MODE_RELAXED};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &params);
    EXPECT_EQ(call.api, GD_API_STREAM_BEGIN_CAPTURE);
    EXPECT_TRUE(call.namesStream);
    EXPECT_EQ(call.stream, handle<CUstream>(0x1000));
    EXPECT_EQ(call.mode, 2U);
    EXPECT_EQ(call.defaultStream, DefaultStream::None);
}

TEST(CallArguments, EndCaptureGivesTheGraph) {
    CUgraph graph = handle<CUgraph>(0x77);
    cuStreamEndCapture_ptsz_params params{nullptr, &graph};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, &params);
    EXPECT_EQ(call.api, GD_API_STREAM_END_CAPTURE);
    EXPECT_EQ(call.graphResult, &graph);
    EXPECT_EQ(call.defaultStream, DefaultStream::PerThread);
}

TEST(CallArguments, WaitEventHasStreamEventAndFlags) {
    cuStreamWaitEvent_params params{handle<CUstream>(0x10), handle<CUevent>(0x20), 1};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &params);
    EXPECT_EQ(call.stream, handle<CUstream>(0x10));
    EXPECT_EQ(call.event, handle<CUevent>(0x20));
    EXPECT_EQ(call.mode, 1U);
}

TEST(CallArguments, GraphLaunchNamesItsExecutableNotAGraph) {
    cuGraphLaunch_params params{handle<CUgraphExec>(0x30), handle<CUstream>(0x40)};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &params);
    EXPECT_EQ(call.api, GD_API_GRAPH_LAUNCH);
    EXPECT_EQ(call.exec, handle<CUgraphExec>(0x30));
    EXPECT_EQ(call.graph, nullptr);
    EXPECT_EQ(call.stream, handle<CUstream>(0x40));
}

TEST(CallArguments, InstantiateGivesFlagsFromEitherForm) {
    CUgraphExec exec = handle<CUgraphExec>(0x9);
    cuGraphInstantiateWithFlags_params flags{
        &exec, handle<CUgraph>(0x5), CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH};
    CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &flags);
    EXPECT_EQ(call.mode, 1U);
    EXPECT_EQ(call.graph, handle<CUgraph>(0x5));
    EXPECT_EQ(call.execResult, &exec);
    CUDA_GRAPH_INSTANTIATE_PARAMS details{};
    details.flags = 8;
    cuGraphInstantiateWithParams_params params{&exec, handle<CUgraph>(0x6), &details};
    call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, &params);
    ASSERT_NE(call.instantiate, nullptr);
    EXPECT_EQ(call.instantiate->flags, 8U);
}

TEST(CallArguments, AllocationsGiveSizeAndWhereTheAddressWillBe) {
    CUdeviceptr address = 0;
    cuMemAlloc_v2_params device{&address, 4096};
    CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &device);
    EXPECT_EQ(call.addressResult, &address);
    EXPECT_EQ(call.bytes, 4096U);
    EXPECT_FALSE(call.namesStream);
    void* host = nullptr;
    cuMemHostAlloc_params pinned{&host, 100, 0};
    call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, &pinned);
    EXPECT_EQ(static_cast<const void*>(call.addressResult), static_cast<const void*>(&host));
    EXPECT_EQ(call.bytes, 100U);
    cuMemAllocFromPoolAsync_params pool{&address, 64, handle<CUmemoryPool>(0x8), handle<CUstream>(0x50)};
    call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, &pool);
    EXPECT_EQ(call.pool, handle<CUmemoryPool>(0x8));
    EXPECT_EQ(call.stream, handle<CUstream>(0x50));
    size_t pitch = 0;
    cuMemAllocPitch_v2_params pitched{&address, &pitch, 100, 7, 4};
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched).bytes, 700U);
}

TEST(CallArguments, FreesGiveTheAddress) {
    cuMemFree_v2_params device{0xdead0000};
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &device).address, 0xdead0000U);
    cuMemFreeHost_params host{handle<void*>(0xbeef)};
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost, &host).address, 0xbeefU);
    cuMemUnmap_params unmap{0x5000, 0x1000};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemUnmap, &unmap);
    EXPECT_EQ(call.address, 0x5000U);
    EXPECT_EQ(call.bytes, 0x1000U);
}

TEST(CallArguments, BlockingCopiesRunOnADefaultStream) {
    cuMemcpyDtoH_v2_params copy{handle<void*>(0x1), 0x2000, 4};
    CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, &copy);
    EXPECT_FALSE(call.namesStream);
    EXPECT_EQ(call.defaultStream, DefaultStream::Legacy);
    EXPECT_EQ(call.bytes, 4U);
    EXPECT_EQ(call.address, 0x2000U);
    cuMemcpyDtoH_v2_ptds_params perThread{handle<void*>(0x1), 0x2000, 4};
    call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds, &perThread);
    EXPECT_EQ(call.defaultStream, DefaultStream::PerThread);
    cuMemsetD32_v2_params fill{0x3000, 7, 10};
    call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2, &fill);
    EXPECT_EQ(call.bytes, 40U);
    EXPECT_EQ(call.address, 0x3000U);
}

TEST(CallArguments, LaunchExTakesTheStreamFromItsConfiguration) {
    CUlaunchConfig config{};
    config.hStream = handle<CUstream>(0x60);
    cuLaunchKernelEx_params params{&config, nullptr, nullptr, nullptr};
    EXPECT_EQ(
        decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &params).stream, handle<CUstream>(0x60));
    params.config = nullptr;
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &params).stream, nullptr);
}

TEST(CallArguments, ExchangeModeReadsTheWantedMode) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    cuThreadExchangeStreamCaptureMode_params params{&mode};
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuThreadExchangeStreamCaptureMode, &params).mode, 1U);
    params.mode = nullptr;
    EXPECT_EQ(decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuThreadExchangeStreamCaptureMode, &params).mode, 0U);
}

TEST(CallArguments, StreamCreationKeepsFlagsAndPriority) {
    CUstream stream = nullptr;
    cuStreamCreateWithPriority_params params{&stream, CU_STREAM_NON_BLOCKING, -3};
    const CallArguments call = decodeArguments(CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, &params);
    EXPECT_EQ(call.mode, 1U);
    EXPECT_EQ(call.priority, -3);
}

TEST(CallArguments, SurvivesAMissingStruct) {
    std::size_t count = 0;
    const auto* calls = followedCalls(count);
    for (std::size_t i = 0; i < count; ++i) {
        const CallArguments call = decodeArguments(calls[i].id, nullptr);
        EXPECT_EQ(call.api, calls[i].api);
        EXPECT_EQ(call.address, 0U);
    }
}

} // namespace
