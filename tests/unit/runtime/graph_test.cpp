// SPDX-License-Identifier: Apache-2.0
#include "test_kernels.h"

#include <thread>
#include <vector>

namespace gdt::runtime::test {

namespace {

/// Captures launches of AppendDigit with the given digits.
Graph captureDigits(OneNumber& t, const std::vector<int>& digits) {
    Graph graph;
    GDT_CHECK(t.stream.beginCapture(CaptureMode::Global));
    for (const int digit : digits)
        GDT_CHECK(t.stream.launch<AppendDigit>({}, {t.number, digit}));
    GDT_CHECK(t.stream.endCapture(graph));
    return graph;
}

} // namespace

class GraphWithWorkers : public testing::TestWithParam<int> { };
INSTANTIATE_TEST_SUITE_P(HostWorkers, GraphWithWorkers, testing::Values(0, 1),
    [](const auto& one) { return one.param == 0 ? "NoWorker" : "AWorkerAStream"; });

TEST_P(GraphWithWorkers, ScalarsAreFrozenAndDeviceValuesReadAgain) {
    OneNumber t(GetParam());
    double* input = nullptr;
    ASSERT_EQ(t.device.allocate(reinterpret_cast<void**>(&input), sizeof(double)), Status::Success);
    const auto setInput = [&](double value) {
        GDT_CHECK(t.device.copy(input, &value, sizeof(value), CopyKind::HostToDevice));
    };
    setInput(1);
    AddScaled::Args arguments{t.number, input, 10};
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AddScaled>({}, arguments), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    arguments.factor = 1000;
    EXPECT_EQ(t.get(), 0);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    EXPECT_EQ(t.get(), 10);
    setInput(2);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    EXPECT_EQ(t.get(), 30);
}

TEST_P(GraphWithWorkers, LaunchesOfOneExecRunOneAfterTheOther) {
    OneNumber t(GetParam());
    const Graph graph = captureDigits(t, {1, 2});
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    Stream other;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    ASSERT_EQ(exec.launch(other), Status::Success);
    if (GetParam() != 0) {
        EXPECT_EQ(other.query(), Status::NotReady);
    }
    gate.open();
    EXPECT_EQ(t.get(), 1212);
}

TEST_P(GraphWithWorkers, UpdateKeepsArgumentsOfQueuedLaunches) {
    OneNumber t(GetParam());
    const Graph first = captureDigits(t, {1});
    const Graph second = captureDigits(t, {2});
    GraphExec exec;
    ASSERT_EQ(first.instantiate(exec), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    UpdateResult result = UpdateResult::Error;
    ASSERT_EQ(exec.update(second, &result), Status::Success);
    EXPECT_EQ(result, UpdateResult::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    gate.open();
    EXPECT_EQ(t.get(), 12);
}

TEST_P(GraphWithWorkers, DestroyedExecStillRunsQueuedLaunches) {
    OneNumber t(GetParam());
    Graph graph = captureDigits(t, {4});
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    ASSERT_EQ(exec.destroy(), Status::Success);
    ASSERT_EQ(graph.destroy(), Status::Success);
    EXPECT_EQ(exec.launch(t.stream), Status::InvalidHandle);
    gate.open();
    EXPECT_EQ(t.get(), 4);
}

TEST_P(GraphWithWorkers, ExternalEventNodesSignalWithinAReplay) {
    OneNumber t(GetParam());
    Event middle;
    ASSERT_EQ(Event::create(t.device, middle), Status::Success);
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.record(middle, RecordFlags::External), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    EXPECT_EQ(graph.node(1).type, NodeType::EventRecord);
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    EXPECT_EQ(middle.query(), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    if (GetParam() != 0) {
        EXPECT_EQ(middle.query(), Status::NotReady);
    }
    Stream other;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(other.wait(middle), Status::Success);
    ASSERT_EQ(other.launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    gate.open();
    EXPECT_EQ(t.get(), 12);
}

TEST(Graph, UpdateRefusesOtherTopologyAndNodeType) {
    OneNumber t;
    const Graph one = captureDigits(t, {1});
    const Graph two = captureDigits(t, {1, 2});
    Graph fill;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.memsetAsync(t.number, 0, 8), Status::Success);
    ASSERT_EQ(t.stream.endCapture(fill), Status::Success);
    GraphExec exec;
    ASSERT_EQ(one.instantiate(exec), Status::Success);
    UpdateResult result = UpdateResult::Success;
    EXPECT_EQ(exec.update(two, &result), Status::GraphExecUpdateFailure);
    EXPECT_EQ(result, UpdateResult::TopologyChanged);
    EXPECT_EQ(exec.update(fill, &result), Status::GraphExecUpdateFailure);
    EXPECT_EQ(result, UpdateResult::NodeTypeChanged);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    EXPECT_EQ(t.get(), 1);
}

TEST(Graph, UpdateSeesChangedEdges) {
    OneNumber t;
    Stream side;
    Event fork;
    Event join;
    ASSERT_EQ(Stream::create(t.device, side, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(Event::create(t.device, fork), Status::Success);
    ASSERT_EQ(Event::create(t.device, join), Status::Success);
    const Graph line = captureDigits(t, {1, 2});
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.record(fork), Status::Success);
    ASSERT_EQ(side.wait(fork), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(side.launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    ASSERT_EQ(side.record(join), Status::Success);
    ASSERT_EQ(t.stream.wait(join), Status::Success);
    Graph parallel;
    ASSERT_EQ(t.stream.endCapture(parallel), Status::Success);
    GraphExec exec;
    ASSERT_EQ(line.instantiate(exec), Status::Success);
    UpdateResult result = UpdateResult::Success;
    EXPECT_EQ(exec.update(parallel, &result), Status::GraphExecUpdateFailure);
    EXPECT_EQ(result, UpdateResult::TopologyChanged);
}

TEST(Graph, ReplayOfFreedAndReusedMemory) {
    for (const StaleAccess stale : {StaleAccess::Faithful, StaleAccess::Checked}) {
        OneNumber t(1, stale);
        double* input = nullptr;
        const double five = 5;
        const double eight = 8;
        ASSERT_EQ(t.device.allocate(reinterpret_cast<void**>(&input), sizeof(double)), Status::Success);
        ASSERT_EQ(t.device.copy(input, &five, 8, CopyKind::HostToDevice), Status::Success);
        ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
        ASSERT_EQ(t.stream.launch<AddScaled>({}, {t.number, input, 1.0}), Status::Success);
        Graph graph;
        ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
        GraphExec exec;
        ASSERT_EQ(graph.instantiate(exec), Status::Success);
        ASSERT_EQ(exec.launch(t.stream), Status::Success);
        ASSERT_EQ(t.get(), 5);
        ASSERT_EQ(t.device.release(input), Status::Success);
        double* other = nullptr;
        ASSERT_EQ(t.device.allocate(reinterpret_cast<void**>(&other), sizeof(double)), Status::Success);
        ASSERT_EQ(other, input) << "the address is handed out again";
        ASSERT_EQ(t.device.copy(other, &eight, 8, CopyKind::HostToDevice), Status::Success);
        ASSERT_EQ(exec.launch(t.stream), Status::Success);
        if (stale == StaleAccess::Checked) {
            EXPECT_EQ(t.stream.synchronize(), Status::IllegalAddress);
        } else {
            EXPECT_EQ(t.get(), 13) << "the new owner's bytes are read";
        }
    }
}

TEST(Graph, AllocationNodesKeepTheirAddressAndMustBeFreed) {
    OneNumber t;
    void* memory = nullptr;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.allocateAsync(&memory, 1024), Status::Success);
    ASSERT_EQ(t.stream.memsetAsync(memory, 3, 1024), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    GraphExec strict;
    GraphExec autoFree;
    ASSERT_EQ(graph.instantiate(strict), Status::Success);
    ASSERT_EQ(graph.instantiate(autoFree, InstantiateFlags::AutoFreeOnLaunch), Status::Success);
    ASSERT_EQ(strict.launch(t.stream), Status::Success);
    EXPECT_EQ(strict.launch(t.stream), Status::InvalidValue);
    ASSERT_EQ(t.stream.releaseAsync(memory), Status::Success);
    EXPECT_EQ(strict.launch(t.stream), Status::Success);
    EXPECT_EQ(autoFree.launch(t.stream), Status::Success);
    EXPECT_EQ(autoFree.launch(t.stream), Status::Success);
    ASSERT_EQ(t.stream.synchronize(), Status::Success);
    EXPECT_EQ(*static_cast<char*>(memory), 3);
}

TEST(Graph, GraphMemoryReturnsWithTheLastOwner) {
    OneNumber t;
    std::size_t before = 0;
    std::size_t during = 0;
    std::size_t after = 0;
    std::size_t total = 0;
    ASSERT_EQ(t.device.memoryInfo(&before, &total), Status::Success);
    {
        GraphExec exec;
        {
            void* memory = nullptr;
            ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
            ASSERT_EQ(t.stream.allocateAsync(&memory, 1024), Status::Success);
            ASSERT_EQ(t.stream.releaseAsync(memory), Status::Success);
            Graph graph;
            ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
            ASSERT_EQ(graph.instantiate(exec), Status::Success);
        }
        ASSERT_EQ(t.device.memoryInfo(&during, &total), Status::Success);
    }
    ASSERT_EQ(t.device.memoryInfo(&after, &total), Status::Success);
    EXPECT_EQ(before - during, 1024U);
    EXPECT_EQ(after, before);
}

TEST(Graph, ExecHasItsOwnId) {
    OneNumber t;
    const Graph graph = captureDigits(t, {1});
    GraphExec first;
    GraphExec second;
    ASSERT_EQ(graph.instantiate(first), Status::Success);
    ASSERT_EQ(graph.instantiate(second), Status::Success);
    EXPECT_NE(first.id(), graph.id());
    EXPECT_NE(first.id(), second.id());
}

TEST(Graph, ThreadsMayLaunchOneExec) {
    OneNumber t;
    const Graph graph = captureDigits(t, {0});
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    Stream other;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    std::thread second([&] {
        for (int i = 0; i < 200; ++i)
            GDT_CHECK(exec.launch(other));
    });
    for (int i = 0; i < 200; ++i)
        GDT_CHECK(exec.launch(t.stream));
    second.join();
    EXPECT_EQ(t.device.synchronize(), Status::Success);
}

} // namespace gdt::runtime::test
