// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/activity_records.h"

#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_activity.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <gtest/gtest.h>

namespace gd::cupti {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

std::uint64_t nameOf(std::uint32_t context, std::uint32_t stream) noexcept {
    return context * 100 + stream;
}

const RecordContext kAlwaysOn{nameOf, {}, {}};

template <class Kernel> Kernel kernelRecord() {
    Kernel kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = 1000;
    kernel.end = 3000;
    kernel.deviceId = 2;
    kernel.contextId = 1;
    kernel.streamId = 7;
    kernel.correlationId = 55;
    kernel.gridX = 10;
    kernel.gridY = 2;
    kernel.gridZ = 1;
    kernel.blockX = 128;
    kernel.blockY = 1;
    kernel.blockZ = 1;
    kernel.registersPerThread = 40;
    kernel.dynamicSharedMemory = 1024;
    kernel.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    kernel.graphId = 4;
    kernel.graphNodeId = (std::uint64_t{4} << 32) | 3;
    return kernel;
}

template <class Record>
RawSpool record(const Record& activity, RecordLayout layout, const RecordContext& context = kAlwaysOn) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    RecordCounts counts;
    spool.run(
        [&] { reportRecord(reinterpret_cast<const CUpti_Activity&>(activity), layout, context, counts); });
    const std::vector<std::string> segments = spool.segments();
    const std::string segment = segments.empty() ? std::string() : segments.front();
    return RawSpool(segment, SpoolBuilder::ringOf(segment));
}

void expectKernel(const RawSpool& raw) {
    const auto kernels = raw.eventsOf<raw::Kernel>();
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].startNs, 1000);
    EXPECT_EQ(kernels[0].endNs, 3000);
    EXPECT_EQ(kernels[0].stream, 107U);
    EXPECT_EQ(kernels[0].correlation, 55U);
    EXPECT_EQ(kernels[0].exec, 4U);
    EXPECT_EQ(kernels[0].node, (std::uint64_t{4} << 32) | 3);
    EXPECT_EQ(kernels[0].isComm, 1U);
    const auto shapes = raw.historyOf<raw::KernelShape>();
    ASSERT_EQ(shapes.size(), 1U);
    EXPECT_EQ(shapes[0].grid[0], 10U);
    EXPECT_EQ(shapes[0].block[0], 128U);
    EXPECT_EQ(shapes[0].registers, 40U);
    EXPECT_EQ(raw.string(shapes[0].name), "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
}

} // namespace

TEST(ActivityRecords, LayoutFollowsTheCuptiVersion) {
    EXPECT_EQ(layoutOf(130001), RecordLayout::Cuda13);
    EXPECT_EQ(layoutOf(28), RecordLayout::Cuda12);
    EXPECT_EQ(layoutOf(140000), RecordLayout::Unknown);
    EXPECT_EQ(layoutOf(0), RecordLayout::Unknown);
    EXPECT_EQ(layoutOf(CUPTI_API_VERSION), RecordLayout::Cuda13) << "the version this library was built with";
}

TEST(ActivityRecords, KernelsOfBothLayouts) {
    expectKernel(record(kernelRecord<CUpti_ActivityKernel10>(), RecordLayout::Cuda13));
    expectKernel(record(kernelRecord<CUpti_ActivityKernel9>(), RecordLayout::Cuda12));
}

TEST(ActivityRecords, AKernelWithoutTimesIsLeftOutAndCounted) {
    auto kernel = kernelRecord<CUpti_ActivityKernel10>();
    kernel.start = 0;
    kernel.end = 0;
    EXPECT_TRUE(record(kernel, RecordLayout::Cuda13).eventsOf<raw::Kernel>().empty());
    RecordCounts counts;
    const auto count = [&] {
        reportRecord(
            reinterpret_cast<const CUpti_Activity&>(kernel), RecordLayout::Cuda13, kAlwaysOn, counts);
    };
    count();
    EXPECT_EQ(counts.untimed, 1U);
    EXPECT_EQ(counts.nodes, 1U) << "it took its place in CUPTI's memory";
    kernel.graphNodeId = 0;
    kernel.start = 5;
    kernel.end = 6;
    count();
    EXPECT_EQ(counts.untimed, 1U);
    EXPECT_EQ(counts.nodes, 1U);
    EXPECT_EQ(counts.eagerKernels, 1U);
}

TEST(EagerKernelMemory, SaysOnceThatAGibibyteIsKept) {
    EagerKernelMemory memory;
    EXPECT_FALSE(memory.add(EagerKernelMemory::kKernels - 1));
    EXPECT_FALSE(memory.add(0));
    EXPECT_TRUE(memory.add(5));
    EXPECT_FALSE(memory.add(EagerKernelMemory::kKernels));
}

TEST(ActivityRecords, WhatWasInFlightWhileItsKindWasOffIsLeftOut) {
    // Seen on an H200: kernels of 56 us that were in flight at the switch came back with 204,647 us.
    RecordContext context = kAlwaysOn;
    context.kernelsOff.switchedOff(2000);
    auto kernel = kernelRecord<CUpti_ActivityKernel10>();
    EXPECT_TRUE(record(kernel, RecordLayout::Cuda13, context).eventsOf<raw::Kernel>().empty());
    kernel.end = 1900; // ended before
    EXPECT_EQ(record(kernel, RecordLayout::Cuda13, context).eventsOf<raw::Kernel>().size(), 1U);
    context.kernelsOff.switchedOn(5000);
    kernel.start = 6000;
    kernel.end = 7000;
    EXPECT_EQ(record(kernel, RecordLayout::Cuda13, context).eventsOf<raw::Kernel>().size(), 1U);
    kernel.start = 4000; // begun while it was off
    EXPECT_TRUE(record(kernel, RecordLayout::Cuda13, context).eventsOf<raw::Kernel>().empty());
}

TEST(OffIntervals, KeepsTheLastOnes) {
    OffIntervals off;
    for (std::int64_t i = 0; i < 200; ++i) {
        off.switchedOff(i * 100);
        off.switchedOff(i * 100 + 5); // said twice
        off.switchedOn(i * 100 + 10);
    }
    EXPECT_TRUE(off.touches(19905, 19906));
    EXPECT_FALSE(off.touches(19910, 20000));
    EXPECT_TRUE(off.touches(13605, 13606));
    EXPECT_FALSE(off.touches(0, 50)) << "forgotten";
}

TEST(ActivityRecords, AReplayIsOneGraphRecord) {
    CUpti_ActivityGraphTrace2 graph{};
    graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    graph.start = 10;
    graph.end = 90;
    graph.graphId = 6;
    graph.contextId = 1;
    graph.streamId = 13;
    graph.correlationId = 8;
    const auto traces = record(graph, RecordLayout::Cuda13).eventsOf<raw::GraphTrace>();
    ASSERT_EQ(traces.size(), 1U);
    EXPECT_EQ(traces[0].exec, 6U);
    EXPECT_EQ(traces[0].correlation, 8U);
    EXPECT_EQ(traces[0].endNs - traces[0].startNs, 80);
}

TEST(ActivityRecords, CopiesKeepDirectionAndKinds) {
    CUpti_ActivityMemcpy6 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    copy.bytes = 4;
    copy.start = 5;
    copy.end = 6;
    copy.contextId = 1;
    const auto copies = record(copy, RecordLayout::Cuda13).eventsOf<raw::Memcpy>();
    ASSERT_EQ(copies.size(), 1U);
    EXPECT_EQ(copies[0].copyKind, GD_RT_COPY_DTOH);
    EXPECT_EQ(copies[0].dstKind, GD_RT_MEMORY_HOST_PAGEABLE);
    EXPECT_EQ(copies[0].bytes, 4U);
}

TEST(ActivityRecords, CopiesBetweenDevicesAreAKindOfTheirOwn) {
    CUpti_ActivityMemcpyPtoP4 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    copy.srcKind = copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy.bytes = 4096;
    copy.start = 5;
    copy.end = 9;
    copy.deviceId = 1;
    copy.srcDeviceId = 1;
    copy.dstDeviceId = 0;
    copy.contextId = 1;
    copy.correlationId = 3;
    copy.graphNodeId = 0x600000001;
    copy.graphId = 6;
    for (const RecordLayout layout : {RecordLayout::Cuda12, RecordLayout::Cuda13}) {
        const auto copies = record(copy, layout).eventsOf<raw::Memcpy>();
        ASSERT_EQ(copies.size(), 1U);
        EXPECT_EQ(copies[0].copyKind, GD_RT_COPY_PTOP);
        EXPECT_EQ(copies[0].bytes, 4096U);
        EXPECT_EQ(copies[0].device, 1U);
        EXPECT_EQ(copies[0].node, 0x600000001U);
    }
}

} // namespace gd::cupti
