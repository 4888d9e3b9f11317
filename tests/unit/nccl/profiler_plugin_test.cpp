// SPDX-License-Identifier: Apache-2.0
#include "collector/api/graphdoctor_runtime.h"
#include "collector/nccl/profiler_abi.h"
#include "collector/raw/records_api.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern "C" gd::nccl::abi::ProfilerV5 ncclProfiler_v5;
extern "C" gd::nccl::abi::ProfilerV4 ncclProfiler_v4;

namespace gd::nccl {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

RawSpool read(const SpoolBuilder& spool) {
    const std::vector<std::string> segments = spool.segments();
    const std::string segment = segments.empty() ? std::string() : segments.front();
    return RawSpool(segment, SpoolBuilder::ringOf(segment));
}

void* openV5(std::uint64_t hash, int ranks, int rank, int& mask) {
    void* context = nullptr;
    EXPECT_EQ(ncclProfiler_v5.init(&context, hash, &mask, "tp", 1, ranks, rank, nullptr), 0);
    return context;
}

void* group(void* context) {
    void* handle = nullptr;
    abi::EventV5 event{};
    event.type = abi::kGroupApi;
    event.groupApi = {false, 1};
    ncclProfiler_v5.startEvent(context, &handle, &event);
    return handle;
}

void collective(void* context, void* parent, const char* function, const char* type, std::size_t count) {
    void* handle = nullptr;
    abi::EventV5 event{};
    event.type = abi::kCollApi;
    event.parent = parent;
    event.collApi = {function, count, type, 0, nullptr, false};
    ncclProfiler_v5.startEvent(context, &handle, &event);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(ncclProfiler_v5.stopEvent(handle), 0);
}

} // namespace

TEST(NcclPlugin, CountsBytesByEachCallsConvention) {
    SpoolBuilder spool;
    spool.run([] {
        int mask = 0;
        void* comm = openV5(0xfeed, 4, 2, mask);
        void* outer = group(comm);
        collective(comm, outer, "AllReduce", "ncclBfloat16", 1000);
        collective(comm, outer, "AllGather", "ncclFloat32", 1000);
        collective(comm, group(comm), "AlltoAll", "ncclFloat32", 10);
        ncclProfiler_v5.finalize(comm);
    });
    const RawSpool raw = read(spool);
    const auto ops = raw.eventsOf<raw::CommOp>();
    ASSERT_EQ(ops.size(), 3U);
    EXPECT_EQ(ops[0].messageBytes, 2000U);
    EXPECT_EQ(ops[1].messageBytes, 4000U);
    EXPECT_EQ(ops[2].messageBytes, 10U * 4 * 4) << "all-to-all sends count elements to each of 4 ranks";
    EXPECT_EQ(ops[0].hash, 0xfeedU);
    EXPECT_EQ(ops[0].group, ops[1].group);
    EXPECT_NE(ops[0].group, ops[2].group);
    EXPECT_EQ(ops[0].source, static_cast<std::uint16_t>(raw::CommSource::NcclPlugin));
    EXPECT_EQ(ops[0].capture, 0U);

    const auto comms = raw.historyOf<raw::Comm>();
    ASSERT_GE(comms.size(), 2U);
    EXPECT_EQ(comms.front().nranks, 4U);
    EXPECT_EQ(comms.front().rank, 2U);
    EXPECT_EQ(comms.back().life, static_cast<std::uint16_t>(raw::Life::Destroyed));
}

TEST(NcclPlugin, AsksOnlyForEventsThatCostReplaysNothing) {
    SpoolBuilder spool;
    const int status = spool.run([] {
        int mask = 0;
        openV5(1, 2, 0, mask);
        constexpr int kProxyAndKernelEvents = (1 << 3) | (1 << 4) | (1 << 5) | (1 << 6) | (1 << 7);
        EXPECT_NE(mask, 0);
        EXPECT_EQ(mask & kProxyAndKernelEvents, 0);
        if (testing::Test::HasFailure()) {
            throw 1; // the child's expectations reach the parent as its status
        }
    });
    EXPECT_EQ(status, 0);
}

TEST(NcclPlugin, WithoutASpoolItAsksForNothingAndSucceeds) {
    int mask = 7;
    void* context = openV5(1, 2, 0, mask);
    EXPECT_EQ(mask, 0);
    EXPECT_EQ(context, nullptr);
    collective(context, nullptr, "AllReduce", "ncclFloat32", 1);
    EXPECT_EQ(ncclProfiler_v5.finalize(context), 0);
}

// NCCL asks once for each communicator, when it is made.
TEST(NcclPlugin, ACommunicatorMadeWhileRecordingIsOffIsFollowedLater) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Off);
    spool.setVariable("GRAPHDOCTOR_POLL_MS", "1");
    EXPECT_EQ(spool.run([&spool] {
        int mask = 0;
        void* comm = openV5(0xb0b, 2, 1, mask);
        void* ended = openV5(0xe0d, 2, 1, mask);
        if (comm == nullptr || mask == 0) {
            throw 1;
        }
        collective(comm, nullptr, "AllReduce", "ncclFloat32", 8);
        ncclProfiler_v5.finalize(ended);
        spool.setLevel(raw::RecordingLevel::Standard);
        for (int i = 0; i < 60'000 && !session::sink::activityWanted(); ++i) {
            const timespec pause{0, 1'000'000};
            nanosleep(&pause, nullptr);
        }
        collective(comm, nullptr, "AllReduce", "ncclFloat32", 16);
        ncclProfiler_v5.finalize(comm);
    }),
        0);
    const RawSpool raw = read(spool);
    ASSERT_EQ(raw.eventsOf<raw::CommOp>().size(), 1u);
    EXPECT_EQ(raw.eventsOf<raw::CommOp>().front().count, 16u);
    std::vector<std::pair<std::uint64_t, std::uint16_t>> lives;
    for (const raw::Comm& comm : raw.historyOf<raw::Comm>()) {
        lives.emplace_back(comm.hash, comm.life);
    }
    EXPECT_THAT(lives,
        testing::ElementsAre(testing::Pair(0xb0bu, GD_RT_CREATED), testing::Pair(0xb0bu, GD_RT_DESTROYED)));
}

TEST(NcclPlugin, AnUnknownTypeIsAnIssueNotAGuess) {
    SpoolBuilder spool;
    spool.run([] {
        int mask = 0;
        void* comm = openV5(1, 2, 0, mask);
        collective(comm, nullptr, "AllReduce", "ncclFloat4", 8);
        collective(comm, nullptr, "AllReduce", "ncclFloat4", 8);
    });
    const RawSpool raw = read(spool);
    EXPECT_TRUE(raw.eventsOf<raw::CommOp>().empty());
    unsigned issues = 0;
    for (const raw::Issue& issue : raw.historyOf<raw::Issue>()) {
        issues += raw.string(issue.code) == "unknown_nccl_type" ? 1 : 0;
    }
    EXPECT_EQ(issues, 1U);
}

TEST(NcclPlugin, VersionFourIsServedAndSaysWhatItLacks) {
    SpoolBuilder spool;
    spool.run([] {
        void* comm = nullptr;
        int mask = 0;
        ncclProfiler_v4.init(&comm, &mask, "pp", 0xbeef, 1, 2, 1, nullptr);
        abi::EventV4 event{};
        event.type = abi::kP2p;
        event.p2p = {"Send", nullptr, "ncclFloat64", 5, 0, 1};
        void* handle = nullptr;
        ncclProfiler_v4.startEvent(comm, &handle, &event);
    });
    const RawSpool raw = read(spool);
    const auto ops = raw.eventsOf<raw::CommOp>();
    ASSERT_EQ(ops.size(), 1U);
    EXPECT_EQ(ops[0].messageBytes, 40U);
    EXPECT_EQ(ops[0].kind, GD_RT_COMM_SEND);
    EXPECT_EQ(ops[0].peer, 0);
    bool partial = false;
    for (const raw::Coverage& coverage : raw.historyOf<raw::Coverage>()) {
        partial |= coverage.source == static_cast<std::uint32_t>(raw::CoverageSource::nccl_plugin)
            && coverage.state == static_cast<std::uint32_t>(raw::CoverageState::Partial);
    }
    EXPECT_TRUE(partial);
}

} // namespace gd::nccl
