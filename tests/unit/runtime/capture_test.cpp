// SPDX-License-Identifier: Apache-2.0
// The full table of capture rules is reference-trainer/bench/capture_cases.cpp; here is what it cannot
// express.
#include "test_kernels.h"

#include <thread>

namespace gdt::runtime::test {

TEST(Capture, InfoCountsNodesAndKeepsTheId) {
    OneNumber t;
    CaptureInfo info;
    ASSERT_EQ(t.stream.captureInfo(&info), Status::Success);
    EXPECT_EQ(info.status, CaptureStatus::None);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.captureInfo(&info), Status::Success);
    EXPECT_EQ(info.status, CaptureStatus::Active);
    EXPECT_EQ(info.nodeCount, 1U);
    const std::uint64_t id = info.id;
    EXPECT_EQ(t.stream.synchronize(), Status::CaptureUnsupported);
    ASSERT_EQ(t.stream.captureInfo(&info), Status::Success);
    EXPECT_EQ(info.status, CaptureStatus::Invalidated);
    EXPECT_EQ(info.id, id);
    Graph graph;
    EXPECT_EQ(t.stream.endCapture(graph), Status::CaptureInvalidated);
    EXPECT_FALSE(graph.valid());
}

TEST(Capture, ForkAndJoinGiveEdges) {
    OneNumber t;
    Stream side;
    Event fork;
    Event join;
    ASSERT_EQ(Stream::create(t.device, side, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(Event::create(t.device, fork), Status::Success);
    ASSERT_EQ(Event::create(t.device, join), Status::Success);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::ThreadLocal), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.record(fork), Status::Success);
    ASSERT_EQ(side.wait(fork), Status::Success);
    ASSERT_EQ(side.launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    ASSERT_EQ(side.record(join), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 3}), Status::Success);
    ASSERT_EQ(t.stream.wait(join), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 4}), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    ASSERT_EQ(graph.nodeCount(), 4U);
    EXPECT_TRUE(graph.node(0).dependencies.empty());
    EXPECT_EQ(graph.node(1).dependencies, std::vector<std::uint32_t>{0});
    EXPECT_EQ(graph.node(2).dependencies, std::vector<std::uint32_t>{0});
    EXPECT_EQ(graph.node(3).dependencies, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_STREQ(graph.node(3).kernelName, "append_digit");
}

TEST(Capture, TwoThreadsMayCaptureAtOnce) {
    OneNumber t;
    const auto work = [&](Stream& stream) {
        for (int i = 0; i < 50; ++i) {
            Graph graph;
            GDT_CHECK(stream.beginCapture(CaptureMode::ThreadLocal));
            for (int k = 0; k < 20; ++k)
                GDT_CHECK(stream.launch<AppendDigit>({}, {t.number, 0}));
            GDT_CHECK(stream.endCapture(graph));
            ASSERT_EQ(graph.nodeCount(), 20U);
        }
    };
    Stream other;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    std::thread second([&] { work(other); });
    work(t.stream);
    second.join();
}

TEST(Capture, DestroyedOriginEndsItsCapture) {
    OneNumber t;
    Stream stream;
    ASSERT_EQ(Stream::create(t.device, stream, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(stream.destroy(), Status::Success);
    void* memory = nullptr;
    EXPECT_EQ(t.device.allocate(&memory, 8), Status::Success);
}

TEST(Capture, HandleDestructorInsideACaptureInvalidatesIt) {
    OneNumber t;
    GraphExec exec;
    Graph graph;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    exec = GraphExec();
    EXPECT_EQ(t.stream.endCapture(graph), Status::CaptureInvalidated);
}

TEST(Capture, AnotherDeviceIsNotTouched) {
    OneNumber t;
    Device other;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    void* memory = nullptr;
    EXPECT_EQ(other.allocate(&memory, 8), Status::Success);
    EXPECT_EQ(other.synchronize(), Status::Success);
    Graph graph;
    EXPECT_EQ(t.stream.endCapture(graph), Status::Success);
}

} // namespace gdt::runtime::test
