// SPDX-License-Identifier: Apache-2.0
// The communicator over NCCL, on a made-up NCCL: what it hands on, and what its watch says when a call of the
// library does not return. Needs no GPU.
#include "comm/nccl_parts.h"
#include "runtime/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gdt::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr std::int64_t kSecond = 1'000'000'000;

// What the made-up library was asked, and what it does inside a call.
struct Library {
    std::vector<std::string> calls;
    std::function<void()> inside = [] {};
    ncclResult_t result = ncclSuccess;
    ncclResult_t asyncError = ncclSuccess;
};
Library* library = nullptr;

ncclComm_t handleOf(std::uintptr_t number) {
    return reinterpret_cast<ncclComm_t>(number);
}

ncclResult_t called(const std::string& what) {
    library->calls.push_back(what);
    library->inside();
    return library->result;
}

Nccl madeUp() {
    Nccl n;
    n.allReduce = [](const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t op, ncclComm_t,
                      cudaStream_t) {
        return called("all-reduce " + std::to_string(count) + " op " + std::to_string(op));
    };
    n.send = [](const void*, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
        return comm == nullptr ? ncclInvalidArgument
                               : called("send " + std::to_string(count) + " to " + std::to_string(peer));
    };
    n.receive = [](void*, std::size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
        return called("receive " + std::to_string(count) + " from " + std::to_string(peer));
    };
    n.groupStart = [] { return called("group"); };
    n.groupEnd = [] { return called("end"); };
    n.split = [](ncclComm_t, int color, int key, ncclComm_t* part, ncclConfig_t*) {
        *part = color == NCCL_SPLIT_NOCOLOR ? nullptr : handleOf(16);
        return called("split " + std::to_string(key));
    };
    n.userRank = [](ncclComm_t, int* rank) {
        *rank = 1;
        return ncclSuccess;
    };
    n.count = [](ncclComm_t, int* size) {
        *size = 2;
        return ncclSuccess;
    };
    n.destroy = [](ncclComm_t comm) {
        return called("destroy " + std::to_string(reinterpret_cast<std::uintptr_t>(comm)));
    };
    n.abort = [](ncclComm_t) { return called("abort"); };
    n.asyncError = [](ncclComm_t, ncclResult_t* error) {
        *error = library->asyncError;
        return ncclSuccess;
    };
    n.lastError = [](ncclComm_t) { return "made up"; };
    n.errorString = [](ncclResult_t result) {
        return result == ncclRemoteError ? "remote process exited" : "invalid argument";
    };
    return n;
}

struct NcclCommunicatorTest : ::testing::Test {
    NcclCommunicatorTest() {
        library = &made;
        GDT_CHECK(runtime::Stream::create(device, stream, runtime::StreamFlags::NonBlocking));
        CommWatchOptions options;
        options.askNs = 3600 * kSecond;
        watch = std::make_shared<CommWatch>(std::move(options));
        communicator = wrapNccl({nccl, handleOf(8), 0, 2, 99}, watch);
        communicator->identify("pipeline", {4, 6});
    }
    ~NcclCommunicatorTest() override {
        library->inside = [] {};
        communicator.reset();
    }
    // The next call of the library never returns, as far as the watch can see.
    void stick() {
        made.inside = [this] {
            EXPECT_EQ(watch->look(0), std::nullopt);
            said = watch->look(30 * kSecond).value_or("");
        };
    }

    Library made;
    Nccl nccl = madeUp();
    runtime::Device device{{.memoryBytes = std::size_t{1} << 20}};
    runtime::Stream stream;
    std::shared_ptr<CommWatch> watch;
    std::unique_ptr<Communicator> communicator;
    std::string said;
    float data[4] = {};
};

TEST_F(NcclCommunicatorTest, NamesTheSendThatNobodyReceives) {
    stick();
    EXPECT_EQ(communicator->at().send(data, 4, DataType::Float32, 1, stream), runtime::Status::Success);
    EXPECT_THAT(said,
        MatchesRegex(
            "waited 30 s in ncclSend: send of 4 float32 to rank 6, not in a graph, as operation 1, at "
            "nccl_communicator_test.cpp:[0-9]+, of communicator pipeline \\(ranks 4, 6\\)"));
}

TEST_F(NcclCommunicatorTest, AGroupWaitsAtItsEnd) {
    EXPECT_EQ(communicator->groupStart(), runtime::Status::Success);
    EXPECT_EQ(communicator->at().receive(data, 3, DataType::Float32, 1, stream), runtime::Status::Success);
    EXPECT_EQ(communicator->at().send(data, 4, DataType::Float32, 1, stream), runtime::Status::Success);
    stick();
    EXPECT_EQ(communicator->groupEnd(), runtime::Status::Success);
    EXPECT_THAT(said, HasSubstr("waited 30 s in ncclGroupEnd: receive of 3 float32 from rank 6"));
    EXPECT_THAT(made.calls, ElementsAre("group", "receive 3 from 1", "send 4 to 1", "end"));
}

TEST_F(NcclCommunicatorTest, TellsWhatACaptureRecordsFromWhatRuns) {
    EXPECT_EQ(stream.beginCapture(runtime::CaptureMode::Relaxed), runtime::Status::Success);
    EXPECT_EQ(communicator->allReduce(data, data, 4, DataType::Float32, ReduceOp::Max, stream),
        runtime::Status::Success);
    runtime::Graph graph;
    EXPECT_EQ(stream.endCapture(graph), runtime::Status::Success);
    const runtime::WatchedCall inside("cuEventSynchronize");
    EXPECT_EQ(watch->look(0), std::nullopt);
    EXPECT_THAT(watch->look(30 * kSecond).value_or(""),
        HasSubstr(
            "a replayed graph has not ended; captured were 1 operations of communicator pipeline (ranks "
            "4, 6), first: all-reduce of 4 float32 (maximum), in a graph, as operation 1"));
}

TEST_F(NcclCommunicatorTest, AnAbortMayWaitAndEndsWhatComesAfter) {
    stick();
    communicator->abort();
    EXPECT_THAT(said, HasSubstr("waited 30 s in ncclCommAbort: "));
    EXPECT_EQ(communicator->send(data, 4, DataType::Float32, 1, stream), runtime::Status::LaunchFailed);
    EXPECT_EQ(communicator->error(), "rank 4 aborted the communicator");
    communicator->abort();
    communicator.reset();
    EXPECT_THAT(made.calls, ElementsAre("abort")); // once, and nothing is left to destroy
}

TEST_F(NcclCommunicatorTest, DestroyingMayWait) {
    stick();
    communicator.reset();
    EXPECT_THAT(said, HasSubstr("waited 30 s in ncclCommDestroy: "));
    EXPECT_THAT(made.calls, ElementsAre("destroy 8"));
}

TEST_F(NcclCommunicatorTest, SaysWhichCallFailed) {
    made.result = ncclInvalidArgument;
    EXPECT_EQ(communicator->send(data, 4, DataType::Float32, 1, stream), runtime::Status::LaunchFailed);
    EXPECT_EQ(communicator->error(), "communicator pipeline, ncclSend: invalid argument (made up)");
}

TEST_F(NcclCommunicatorTest, TellsAnErrorThatCameLater) {
    EXPECT_EQ(communicator->error(), "");
    made.asyncError = ncclRemoteError;
    EXPECT_EQ(communicator->error(), "communicator pipeline, operation: remote process exited (made up)");
    EXPECT_EQ(watch->look(0), std::nullopt);
    EXPECT_THAT(watch->look(2 * kSecond).value_or(""), HasSubstr("remote process exited"));
    made.asyncError = ncclSuccess;
}

TEST_F(NcclCommunicatorTest, PartsAreWatchedToo) {
    std::string error;
    std::unique_ptr<Communicator> part = communicator->split(3, 7, error);
    ASSERT_NE(part, nullptr) << error;
    EXPECT_EQ(part->rank(), 1);
    EXPECT_EQ(part->size(), 2);
    EXPECT_NE(part->hash(), communicator->hash());
    part->identify("tensor", {5, 6});
    stick();
    EXPECT_EQ(part->send(data, 2, DataType::Float32, 0, stream), runtime::Status::Success);
    EXPECT_THAT(said,
        HasSubstr("send of 2 float32 to rank 5, not in a graph, as operation 1, of communicator "
                  "tensor (ranks 5, 6)"));
    EXPECT_EQ(communicator->split(-1, 0, error), nullptr);
    EXPECT_EQ(error, "");
}

} // namespace
} // namespace gdt::comm
