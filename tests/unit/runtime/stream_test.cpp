// SPDX-License-Identifier: Apache-2.0
#include "test_kernels.h"

#include <array>
#include <thread>
#include <vector>

namespace gdt::runtime::test {

class StreamWithWorkers : public testing::TestWithParam<int> { };
INSTANTIATE_TEST_SUITE_P(HostWorkers, StreamWithWorkers, testing::Values(0, 1),
    [](const auto& one) { return one.param == 0 ? "NoWorker" : "AWorkerAStream"; });

TEST_P(StreamWithWorkers, RunsInOrder) {
    OneNumber t(GetParam());
    for (const int digit : {1, 2, 3, 4, 5})
        ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, digit}), Status::Success);
    ASSERT_EQ(t.stream.synchronize(), Status::Success);
    EXPECT_EQ(t.get(), 12345);
}

TEST_P(StreamWithWorkers, EventOrdersTwoStreams) {
    OneNumber t(GetParam());
    Stream other;
    Event event;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(Event::create(t.device, event), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.record(event), Status::Success);
    ASSERT_EQ(other.wait(event), Status::Success);
    ASSERT_EQ(other.launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    if (GetParam() != 0) {
        EXPECT_EQ(event.query(), Status::NotReady);
        EXPECT_EQ(other.query(), Status::NotReady);
    }
    gate.open();
    ASSERT_EQ(other.synchronize(), Status::Success);
    EXPECT_EQ(event.query(), Status::Success);
    EXPECT_EQ(t.get(), 12);
}

TEST_P(StreamWithWorkers, WaitUsesTheRecordOfItsOwnTime) {
    OneNumber t(GetParam());
    Stream other;
    Event event;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(Event::create(t.device, event), Status::Success);
    Gate gate;
    ASSERT_EQ(t.stream.record(event), Status::Success);
    ASSERT_EQ(other.wait(event), Status::Success);
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(t.stream.record(event), Status::Success);
    EXPECT_EQ(other.synchronize(), Status::Success); // would hang if it waited for the second record
    gate.open();
    EXPECT_EQ(event.synchronize(), Status::Success);
}

TEST_P(StreamWithWorkers, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
    OneNumber t(GetParam());
    Stream blocking;
    ASSERT_EQ(Stream::create(t.device, blocking), Status::Success);
    Gate gate;
    ASSERT_EQ(blocking.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(blocking.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.device.defaultStream().launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    ASSERT_EQ(blocking.launch<AppendDigit>({}, {t.number, 3}), Status::Success);
    gate.open();
    ASSERT_EQ(blocking.synchronize(), Status::Success);
    EXPECT_EQ(t.get(), 123);
}

TEST_P(StreamWithWorkers, ArgumentsAreCopiedAtTheCall) {
    OneNumber t(GetParam());
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    AppendDigit::Args arguments{t.number, 7};
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, arguments), Status::Success);
    arguments.digit = 9;
    gate.open();
    EXPECT_EQ(t.get(), 7);
}

TEST_P(StreamWithWorkers, PageableSourceIsReadBeforeTheCallReturns) {
    OneNumber t(GetParam());
    Gate gate;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    double value = 4;
    ASSERT_EQ(t.stream.memcpyAsync(t.number, &value, sizeof(value), CopyKind::HostToDevice), Status::Success);
    value = 5;
    gate.open();
    EXPECT_EQ(t.get(), 4);
}

TEST_P(StreamWithWorkers, PinnedSourceIsReadWhenTheCopyRuns) {
    OneNumber t(GetParam());
    double* value = nullptr;
    ASSERT_EQ(t.device.allocateHost(reinterpret_cast<void**>(&value), sizeof(double)), Status::Success);
    Gate gate;
    *value = 4;
    ASSERT_EQ(t.stream.hostFunction(&Gate::pass, &gate), Status::Success);
    ASSERT_EQ(t.stream.memcpyAsync(t.number, value, sizeof(*value), CopyKind::HostToDevice), Status::Success);
    *value = 5;
    gate.open();
    EXPECT_EQ(t.get(), 5);
    EXPECT_EQ(t.device.releaseHost(value), Status::Success);
}

TEST_P(StreamWithWorkers, OrderedMemoryIsReusedAfterItsRelease) {
    OneNumber t(GetParam());
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(t.stream.allocateAsync(&first, 4096), Status::Success);
    ASSERT_EQ(t.stream.memsetAsync(first, 1, 4096), Status::Success);
    ASSERT_EQ(t.stream.releaseAsync(first), Status::Success);
    ASSERT_EQ(t.stream.synchronize(), Status::Success);
    ASSERT_EQ(t.stream.allocateAsync(&second, 4096), Status::Success);
    EXPECT_EQ(second, first);
    EXPECT_EQ(t.stream.releaseAsync(second), Status::Success);
    EXPECT_EQ(t.stream.releaseAsync(&second), Status::InvalidValue);
}

TEST(Stream, CopyKindMustFitThePointers) {
    OneNumber t;
    double value = 0;
    EXPECT_EQ(t.stream.memcpyAsync(t.number, &value, 8, CopyKind::DeviceToHost), Status::InvalidValue);
    EXPECT_EQ(t.stream.memcpyAsync(&value, &value, 8, CopyKind::HostToDevice), Status::InvalidValue);
    EXPECT_EQ(t.stream.memsetAsync(&value, 0, 8), Status::InvalidValue);
}

TEST(Stream, WithoutWorkersNothingRunsBeforeSynchronize) {
    OneNumber t(0);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    EXPECT_EQ(*t.number, 0);
    ASSERT_EQ(t.stream.synchronize(), Status::Success);
    EXPECT_EQ(*t.number, 1);
}

TEST(Stream, WithoutWorkersAWaitRunsTheOtherStream) {
    OneNumber t(0);
    Stream other;
    Event event;
    ASSERT_EQ(Stream::create(t.device, other, StreamFlags::NonBlocking), Status::Success);
    ASSERT_EQ(Event::create(t.device, event), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.record(event), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 9}), Status::Success);
    ASSERT_EQ(other.wait(event), Status::Success);
    ASSERT_EQ(other.launch<AppendDigit>({}, {t.number, 2}), Status::Success);
    ASSERT_EQ(other.synchronize(), Status::Success);
    EXPECT_EQ(*t.number, 12);
    EXPECT_EQ(t.get(), 129);
}

TEST(Stream, EventTimesGrow) {
    OneNumber t;
    Event start;
    Event end;
    ASSERT_EQ(Event::create(t.device, start), Status::Success);
    ASSERT_EQ(Event::create(t.device, end), Status::Success);
    std::int64_t ns = 0;
    EXPECT_EQ(Event::elapsedNs(start, end, &ns), Status::InvalidHandle);
    ASSERT_EQ(t.stream.record(start), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 1}), Status::Success);
    ASSERT_EQ(t.stream.record(end), Status::Success);
    ASSERT_EQ(end.synchronize(), Status::Success);
    ASSERT_EQ(Event::elapsedNs(start, end, &ns), Status::Success);
    EXPECT_GE(ns, 0);
}

TEST(Stream, ManyThreadsMayLaunch) {
    OneNumber t;
    constexpr int kThreads = 4;
    constexpr int kLaunches = 500;
    const double one = 1;
    double* input = nullptr;
    ASSERT_EQ(t.device.allocate(reinterpret_cast<void**>(&input), sizeof(double)), Status::Success);
    ASSERT_EQ(t.device.copy(input, &one, sizeof(one), CopyKind::HostToDevice), Status::Success);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < kLaunches; ++k)
                GDT_CHECK(t.stream.launch<AddScaled>({}, {t.number, input, 1.0}));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(t.get(), kThreads * kLaunches);
}

TEST(Stream, UseAfterFreeReadsStaleBytesOrFailsWhenChecked) {
    for (const StaleAccess stale : {StaleAccess::Faithful, StaleAccess::Checked}) {
        OneNumber t(1, stale);
        double* input = nullptr;
        const double three = 3;
        ASSERT_EQ(t.device.allocate(reinterpret_cast<void**>(&input), sizeof(double)), Status::Success);
        ASSERT_EQ(t.device.copy(input, &three, sizeof(three), CopyKind::HostToDevice), Status::Success);
        ASSERT_EQ(t.device.release(input), Status::Success);
        ASSERT_EQ(t.stream.launch<AddScaled>({}, {t.number, input, 1.0}), Status::Success);
        const bool checked = stale == StaleAccess::Checked;
        EXPECT_EQ(t.stream.synchronize(), checked ? Status::IllegalAddress : Status::Success);
        EXPECT_EQ(*t.number, checked ? 0 : 3);
        // The error sticks to the device.
        EXPECT_EQ(t.stream.query(), checked ? Status::IllegalAddress : Status::Success);
        void* memory = nullptr;
        EXPECT_EQ(t.device.allocate(&memory, 8), checked ? Status::IllegalAddress : Status::Success);
    }
}

} // namespace gdt::runtime::test
