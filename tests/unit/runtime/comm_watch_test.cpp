// SPDX-License-Identifier: Apache-2.0
// Who waits in vain, and for what, on a clock of the tests' own.
#include "comm/comm_watch.h"

#include "collector/api/graphdoctor_runtime.h"
#include "comm/communicator.h"
#include "runtime/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include <unistd.h>

namespace gdt::comm {
namespace {

using runtime::WatchedCall;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::int64_t kSecond = 1'000'000'000;

class TestMarker final : public Marker {
public:
    bool set(const runtime::Stream&) override { return true; }
    bool passed() override { return done; }
    std::atomic<bool> done{false};
};

struct CommWatchTest : ::testing::Test {
    CommWatchTest() {
        GDT_CHECK(runtime::Stream::create(device, stream, runtime::StreamFlags::NonBlocking));
        options.askNs = 3600 * kSecond;
        options.makeMarker = [this] {
            markers.push_back(std::make_shared<TestMarker>());
            return markers.back();
        };
    }

    CommWatch& watch() {
        made = made != nullptr ? std::move(made) : std::make_unique<CommWatch>(options);
        return *made;
    }
    CommWatch::Member& pipeline() {
        if (member == nullptr) {
            member = watch().add("pipeline", {4, 6}, [this] { return libraryError; });
        }
        return *member;
    }
    void begin(std::uint32_t kind, std::uint64_t count, int root, bool captured = false) {
        runtime::CommArguments arguments;
        arguments.kind = kind;
        arguments.dataType = static_cast<std::uint32_t>(DataType::Float32);
        arguments.count = count;
        arguments.root = root;
        watch().begin(pipeline(), arguments, captured, {});
    }
    void send(std::uint64_t count) {
        begin(GD_RT_COMM_SEND, count, 1);
        watch().queued(pipeline(), stream);
    }
    // As a watchdog that looks twice, `after` apart, while the thread is in the call.
    std::optional<std::string> lookTwice(std::int64_t after) {
        EXPECT_EQ(watch().look(0), std::nullopt);
        return watch().look(after);
    }

    runtime::Device device{{.memoryBytes = std::size_t{1} << 20}};
    runtime::Stream stream;
    CommWatchOptions options;
    std::vector<std::shared_ptr<TestMarker>> markers;
    std::string libraryError;
    std::unique_ptr<CommWatch> made;
    CommWatch::Member* member = nullptr;
};

TEST_F(CommWatchTest, CountsTheTimeOfOneCall) {
    for (int call = 0; call < 3; ++call) {
        const WatchedCall inside("cuEventSynchronize");
        EXPECT_EQ(watch().look(call * 29 * kSecond), std::nullopt);
        EXPECT_EQ(watch().look((call + 1) * 29 * kSecond), std::nullopt);
    }
    EXPECT_EQ(watch().look(1000 * kSecond), std::nullopt); // outside: the thread computes
    EXPECT_EQ(watch().look(2000 * kSecond), std::nullopt);
    const WatchedCall inside("cuEventSynchronize");
    EXPECT_EQ(watch().look(2001 * kSecond), std::nullopt);
    EXPECT_EQ(watch().look(2031 * kSecond - 1), std::nullopt);
    EXPECT_THAT(watch().look(2031 * kSecond),
        Optional(
            std::string("waited 30 s in cuEventSynchronize: no operation with other ranks is under way")));
    EXPECT_EQ(watch().look(3000 * kSecond), std::nullopt); // said once
}

TEST_F(CommWatchTest, ACallMayHaveALimitOfItsOwn) {
    watch();
    {
        const WatchedCall start("ncclCommInitRank", 60 * kSecond);
        EXPECT_EQ(lookTwice(59 * kSecond), std::nullopt);
        EXPECT_THAT(watch().look(60 * kSecond), Optional(HasSubstr("waited 60 s in ncclCommInitRank")));
    }
}

TEST_F(CommWatchTest, AnInnerCallEndsAndTheOuterOneGoesOn) {
    watch();
    const WatchedCall outer("cuMemcpy");
    { const WatchedCall inner("cuStreamSynchronize"); }
    EXPECT_EQ(lookTwice(29 * kSecond), std::nullopt);
    EXPECT_THAT(watch().look(30 * kSecond), Optional(HasSubstr("waited 30 s in cuMemcpy")));
}

TEST_F(CommWatchTest, NamesTheOperationThatTheLibraryHolds) {
    send(8);
    begin(GD_RT_COMM_SEND, 16, 1);
    const WatchedCall inside("ncclSend");
    EXPECT_THAT(lookTwice(30 * kSecond),
        Optional(std::string("waited 30 s in ncclSend: send of 16 float32 to rank 6, not in a graph, as "
                             "operation 2, of communicator pipeline (ranks 4, 6)")));
}

TEST_F(CommWatchTest, NamesTheFirstThatTheDeviceHasNotRun) {
    CommWatch::Member& tensor = *watch().add("tensor", {4, 5, 6}, {});
    send(1);
    send(2);
    runtime::CommArguments sum;
    sum.kind = GD_RT_COMM_ALL_REDUCE;
    sum.dataType = static_cast<std::uint32_t>(DataType::BFloat16);
    sum.count = 7;
    watch().begin(tensor, sum, false, std::source_location::current());
    watch().queued(tensor, stream);
    send(3);
    ASSERT_EQ(markers.size(), 4U);
    markers[0]->done = true;
    markers[1]->done = true;
    const WatchedCall inside("cuStreamSynchronize");
    EXPECT_THAT(lookTwice(30 * kSecond),
        Optional(::testing::MatchesRegex(
            "waited 30 s in cuStreamSynchronize: not ended: all-reduce of 7 bfloat16, not in a graph, "
            "as operation 1, at comm_watch_test.cpp:[0-9]+, of communicator tensor \\(ranks "
            "4, 5, 6\\)")));
}

TEST_F(CommWatchTest, ListsWhatGraphsHoldWhenAllElseHasRun) {
    send(1);
    markers[0]->done = true;
    begin(GD_RT_COMM_RECV, 5, 1, true);
    begin(GD_RT_COMM_SEND, 6, 1, true);
    watch().queued(pipeline(), stream); // a group
    begin(GD_RT_COMM_BROADCAST, 7, 0, true);
    watch().queued(pipeline(), stream);
    EXPECT_EQ(markers.size(), 1U); // none inside captures
    const WatchedCall inside("cuEventSynchronize");
    EXPECT_THAT(lookTwice(30 * kSecond),
        Optional(std::string(
            "waited 30 s in cuEventSynchronize: a replayed graph has not ended; captured were 3 operations "
            "of "
            "communicator pipeline (ranks 4, 6), first: receive of 5 float32 from rank 6, in a graph, as "
            "operation 1, last: broadcast of 7 float32 from rank 4, in a graph, as operation 1")));
}

TEST_F(CommWatchTest, KeepsThoseThatWaitLongestWhenThereAreMany) {
    for (std::uint64_t i = 1; i <= CommWatch::kOpen + 5; ++i) {
        send(i);
    }
    EXPECT_EQ(pipeline().open.size(), CommWatch::kOpen);
    EXPECT_EQ(pipeline().open.front().signature.count, 1U);
    for (const auto& marker : markers) {
        marker->done = true;
    }
    const std::size_t before = markers.size();
    send(1000);
    send(1001);
    EXPECT_EQ(
        markers.size(), before + 1); // the one of 1000 was made before the others were known to have run
    pipeline().open.pop_back();
    EXPECT_EQ(pipeline().open.size(), CommWatch::kOpen / 2);
    EXPECT_EQ(pipeline().open.front().signature.count, CommWatch::kOpen / 2 + 2);
    EXPECT_EQ(pipeline().open.back().signature.count, 1000U);
}

TEST_F(CommWatchTest, AFailedCallLeavesNothingBehind) {
    begin(GD_RT_COMM_SEND, 3, 1);
    watch().failed(pipeline());
    const WatchedCall inside("cuMemFree");
    EXPECT_THAT(lookTwice(30 * kSecond), Optional(HasSubstr("no operation with other ranks is under way")));
}

TEST_F(CommWatchTest, DoesWithoutADeviceThatDoesNotAnswer) {
    struct Stuck final : Marker {
        explicit Stuck(std::shared_future<void> until)
            : end(std::move(until)) { }
        bool set(const runtime::Stream&) override { return true; }
        bool passed() override {
            end.wait();
            return true;
        }
        std::shared_future<void> end;
    };
    std::promise<void> end;
    options.askNs = 1;
    options.makeMarker = [future = end.get_future().share()] { return std::make_shared<Stuck>(future); };
    send(1);
    send(2);
    const WatchedCall inside("cuMemAlloc");
    EXPECT_THAT(lookTwice(30 * kSecond),
        Optional(HasSubstr("waited 30 s in cuMemAlloc: queued last: send of 2 float32")));
    end.set_value();
}

TEST_F(CommWatchTest, AnErrorOfTheLibraryCountsOnceItsUserHadTimeToNotice) {
    send(1);
    libraryError = "remote process exited";
    EXPECT_EQ(watch().look(0), std::nullopt);
    libraryError.clear(); // somebody dealt with it
    EXPECT_EQ(watch().look(2 * kSecond), std::nullopt);
    libraryError = "remote process exited";
    EXPECT_EQ(watch().look(3 * kSecond), std::nullopt);
    EXPECT_EQ(watch().look(5 * kSecond - 1), std::nullopt);
    EXPECT_THAT(watch().look(5 * kSecond),
        Optional(::testing::StartsWith("remote process exited: not ended: send of 1")));
}

TEST_F(CommWatchTest, SaysNothingMoreOnceTheUserKnows) {
    watch().leave();
    const WatchedCall inside("ncclCommDestroy");
    EXPECT_EQ(lookTwice(CommWatch::kLeaveNs - 1), std::nullopt);
    EXPECT_THAT(watch().look(CommWatch::kLeaveNs), Optional(std::string()));
}

TEST_F(CommWatchTest, OtherThreadsAndLaterTimesAreNotWatched) {
    watch();
    std::thread([] { EXPECT_EQ(runtime::callBoard(), nullptr); }).join();
    EXPECT_NE(runtime::callBoard(), nullptr);
    made.reset();
    EXPECT_EQ(runtime::callBoard(), nullptr);
    const WatchedCall inside("cuMemFree"); // writes nowhere
}

[[noreturn]] void waitInVain(const char* call) {
    CommWatchOptions options;
    options.rank = 3;
    options.timeoutNs = 1;
    options.end = [](const std::string& sentence) { endProcess(3, sentence, 0); };
    CommWatch watch(options);
    watch.start();
    const WatchedCall inside(call);
    while (true) {
        ::pause();
    }
}

TEST(CommWatchDeathTest, TheProcessEndsWithOneSentence) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(waitInVain("cuStreamSynchronize"), ::testing::ExitedWithCode(1),
        "reference-trainer: rank 3: waited [0-9]+ s in cuStreamSynchronize: no operation with other ranks is "
        "under way");
}

// What comes free while the process ends goes no further.
[[noreturn]] void comeFree() {
    std::promise<void> freed;
    CommWatchOptions options;
    options.timeoutNs = 1;
    options.end = [&](const std::string& sentence) {
        freed.set_value();
        endProcess(0, sentence, 50);
    };
    CommWatch watch(options);
    watch.start();
    {
        const WatchedCall inside("cuStreamSynchronize");
        freed.get_future().wait();
    }
    std::_Exit(77);
}

TEST(CommWatchDeathTest, AThreadThatComesFreeMeanwhileIsHeld) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(comeFree(), ::testing::ExitedWithCode(1), "rank 0: waited [0-9]+ s in cuStreamSynchronize");
}

} // namespace
} // namespace gdt::comm
