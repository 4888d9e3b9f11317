// SPDX-License-Identifier: Apache-2.0
// NCCL's calls by its NVTX ranges: alone, and beside the profiler plugin that sees the same calls.
#include "collector/nccl/nvtx_calls.h"

#include "collector/nccl/comm_table.h"
#include "collector/nccl/profiler_abi.h"
#include "collector/raw/records_api.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <gtest/gtest.h>

extern "C" gd::nccl::abi::ProfilerV5 ncclProfiler_v5;
extern "C" gd::nccl::abi::ProfilerV4 ncclProfiler_v4;

namespace gd::nccl {

namespace {

namespace sink = session::sink;
using test::RawSpool;
using test::SpoolBuilder;

constexpr std::uint64_t kComm = 0xfeed;
constexpr std::uint64_t kStream = 21;

CallFields payload(std::uint64_t bytes, std::uint64_t comm = kComm) {
    CallFields fields;
    fields.comm = comm;
    fields.bytes = bytes;
    fields.hasBytes = true;
    return fields;
}

void range(std::string_view name) {
    rangePushed(name, {});
    rangePopped({});
}

void initComm(std::uint64_t hash, std::uint32_t nranks, std::int32_t rank, std::int32_t device = 0) {
    rangePushed("ncclCommInitRank", {});
    CallFields fields;
    fields.comm = hash;
    fields.nranks = nranks;
    fields.rank = rank;
    fields.device = device;
    rangePopped(fields);
}

gd_rt_api api(gd_api_id id, std::uint64_t stream = 0, std::uint64_t correlation = 1) {
    gd_rt_api call{};
    call.size = sizeof call;
    call.api = id;
    call.stream = stream;
    call.correlation = correlation;
    return call;
}

void made(const gd_rt_api& call) {
    sink::apiEnter(call);
    sink::apiExit(call, 0);
}

/// As NCCL does inside a call: it asks whether the stream is being captured.
void asks(std::uint64_t stream) {
    made(api(GD_API_STREAM_GET_CAPTURE_INFO, stream));
}

void call(std::string_view name, const CallFields& fields, std::uint64_t stream) {
    rangePushed(name, fields);
    if (stream != 0) {
        asks(stream);
    }
    rangePopped({});
}

void beginCapture(std::uint64_t stream) {
    made(api(GD_API_STREAM_BEGIN_CAPTURE, stream, 77));
}

RawSpool recorded(const std::function<void()>& body) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run(body), 0);
    const std::vector<std::string> segments = spool.segments();
    return RawSpool(segments.at(0), SpoolBuilder::ringOf(segments.at(0)));
}

std::vector<raw::CommOp> captured(const RawSpool& spool) {
    return spool.historyOf<raw::CommOp>();
}
std::vector<raw::CommOp> eager(const RawSpool& spool) {
    return spool.eventsOf<raw::CommOp>();
}

raw::Coverage lastCoverage(const RawSpool& spool, raw::CoverageSource source) {
    raw::Coverage last{};
    for (const raw::Coverage& coverage : spool.historyOf<raw::Coverage>()) {
        if (coverage.source == static_cast<std::uint32_t>(source)) {
            last = coverage;
        }
    }
    return last;
}

void* openV5(std::uint64_t hash, int ranks, int rank) {
    void* context = nullptr;
    int mask = 0;
    ncclProfiler_v5.init(&context, hash, &mask, "tp", 1, ranks, rank, nullptr);
    return context;
}

void pluginP2p(void* context, const char* function, std::size_t count) {
    void* handle = nullptr;
    abi::EventV5 event{};
    event.type = abi::kP2pApi;
    event.p2pApi = {function, count, "ncclFloat32", nullptr, false};
    ncclProfiler_v5.startEvent(context, &handle, &event);
}

void pluginAllReduce(void* context, std::size_t count) {
    void* handle = nullptr;
    abi::EventV5 event{};
    event.type = abi::kCollApi;
    event.collApi = {"AllReduce", count, "ncclFloat32", 0, nullptr, false};
    ncclProfiler_v5.startEvent(context, &handle, &event);
}

} // namespace

TEST(NvtxCalls, ACallIsItsBytesCommunicatorAndPeer) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 4, 2);
        call("ncclAllReduce", payload(1000), kStream);
        CallFields send = payload(64);
        send.peer = 3;
        call("ncclSend", send, kStream);
        CallFields broadcast = payload(128);
        broadcast.root = 1;
        call("ncclBroadcast", broadcast, kStream);
        call("ncclAlltoAll", payload(10), kStream);
    });
    const auto ops = eager(spool);
    ASSERT_EQ(ops.size(), 4U);
    EXPECT_EQ(ops[0].kind, GD_RT_COMM_ALL_REDUCE);
    EXPECT_EQ(ops[0].messageBytes, 1000U);
    EXPECT_EQ(ops[0].hash, kComm);
    EXPECT_EQ(ops[0].peer, -1);
    EXPECT_EQ(ops[0].stream, kStream);
    EXPECT_EQ(ops[0].source, static_cast<std::uint16_t>(raw::CommSource::NcclNvtx));
    EXPECT_EQ(ops[1].peer, 3);
    EXPECT_EQ(ops[2].peer, 1);
    EXPECT_EQ(ops[3].messageBytes, 40U) << "an all-to-all names the bytes for one of 4 ranks";
    EXPECT_EQ(lastCoverage(spool, raw::CoverageSource::nccl_nvtx).state,
        static_cast<std::uint32_t>(raw::CoverageState::Complete));
}

TEST(NvtxCalls, CapturedByTheStateOfTheStreamNcclAsksFor) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 2, 0);
        beginCapture(kStream);
        call("ncclAllReduce", payload(8), kStream);
        call("ncclAllReduce", payload(16), kStream + 1); // another stream: eager, although a capture is open
        call("ncclAllReduce", payload(32), kStream);
    });
    ASSERT_EQ(captured(spool).size(), 2U);
    EXPECT_EQ(captured(spool)[0].messageBytes, 8U);
    EXPECT_EQ(captured(spool)[1].messageBytes, 32U);
    EXPECT_NE(captured(spool)[0].capture, 0U);
    ASSERT_EQ(eager(spool).size(), 1U);
    EXPECT_EQ(eager(spool)[0].messageBytes, 16U);
}

TEST(NvtxCalls, OnlyTheFirstStreamOfACallIsItsStream) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 2, 0);
        beginCapture(kStream);
        rangePushed("ncclAllReduce", payload(8));
        made(api(GD_API_STREAM_WAIT_EVENT, 99)); // a stream of NCCL's own
        asks(kStream);
        made(api(GD_API_LAUNCH_HOST_FUNC, 98));
        rangePopped({});
    });
    ASSERT_EQ(captured(spool).size(), 1U);
    EXPECT_EQ(captured(spool)[0].stream, kStream);
}

TEST(NvtxCalls, AGroupAsksOncePerCommunicator) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 2, 0);
        initComm(kComm + 1, 2, 0);
        beginCapture(kStream);
        range("ncclGroupStart");
        call("ncclSend", payload(1), kStream);
        range("ncclGroupStart"); // nests
        call("ncclAllReduce", payload(2, kComm + 1), kStream);
        call("ncclRecv", payload(3), 0);
        range("ncclGroupEnd");
        call("ncclAllReduce", payload(4, kComm + 1), 0);
        range("ncclGroupEnd");
        call("ncclAllReduce", payload(5), 50);
    });
    const auto ops = captured(spool);
    ASSERT_EQ(ops.size(), 4U);
    for (const raw::CommOp& op : ops) {
        EXPECT_EQ(op.stream, kStream);
        EXPECT_EQ(op.group, ops[0].group) << "the outermost group";
    }
    ASSERT_EQ(eager(spool).size(), 1U);
    EXPECT_NE(eager(spool)[0].group, ops[0].group);
}

TEST(NvtxCalls, WhatACallIsMadeOfIsNotCountedAgain) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 2, 0);
        rangePushed("ncclSend", payload(7)); // NCCL before 2.20 opens a public group inside
        range("ncclGroupStart");
        asks(kStream);
        range("ncclGroupEnd");
        rangePopped({});
        rangePushed("ncclBcast", payload(9));
        call("ncclBroadcast", payload(9), kStream);
        rangePopped({});
    });
    const auto ops = eager(spool);
    ASSERT_EQ(ops.size(), 2U);
    EXPECT_EQ(ops[0].kind, GD_RT_COMM_SEND);
    EXPECT_EQ(ops[1].kind, GD_RT_COMM_BROADCAST);
    EXPECT_NE(ops[0].group, ops[1].group);
}

TEST(NvtxCalls, AGatherIsOneRecordWhateverItsRanksAre) {
    const RawSpool spool = recorded([] {
        CallFields fields = payload(100);
        fields.root = 1;
        call("ncclGather", fields, kStream);
        call("ncclScatter", fields, kStream);
    });
    const auto ops = eager(spool);
    ASSERT_EQ(ops.size(), 2U);
    EXPECT_EQ(ops[0].kind, raw::kGatherKind);
    EXPECT_EQ(ops[1].kind, raw::kScatterKind);
    EXPECT_EQ(ops[0].peer, 1);
    EXPECT_EQ(ops[0].messageBytes, 100U);
}

TEST(NvtxCalls, ACommunicatorThatGotItsHashLateIsKnownFromItsFirstUse) {
    const RawSpool spool = recorded([] {
        rangePushed("ncclCommSplit", {});
        CallFields fields; // inside a group NCCL has no hash yet
        fields.isChild = true;
        rangePopped(fields);
        call("ncclAllReduce", payload(8), kStream);
        call("ncclAllReduce", payload(8), kStream);
    });
    const auto comms = spool.historyOf<raw::Comm>();
    ASSERT_EQ(comms.size(), 1U);
    EXPECT_EQ(comms[0].hash, kComm);
    EXPECT_EQ(comms[0].nranks, 0U);
}

TEST(NvtxCalls, CommunicatorsHaveLivesAndADestroyThatHangsIsSeen) {
    const RawSpool spool = recorded([] {
        initComm(kComm, 4, 2, 1);
        CallFields fields;
        fields.comm = kComm;
        fields.nranks = 4;
        fields.rank = 2;
        fields.device = 1;
        rangePushed("ncclCommDestroy", fields);
    });
    const auto comms = spool.historyOf<raw::Comm>();
    ASSERT_EQ(comms.size(), 2U);
    EXPECT_EQ(comms[0].nranks, 4U);
    EXPECT_EQ(comms[0].rank, 2U);
    EXPECT_EQ(comms[0].device, 1U);
    EXPECT_EQ(comms[1].life, static_cast<std::uint16_t>(raw::Life::Destroyed));
    EXPECT_EQ(comms[1].endNs, 0) << "it has not returned";
    bool entered = false;
    for (const raw::ApiEnter& enter : spool.eventsOf<raw::ApiEnter>()) {
        entered |= enter.api == GD_API_COMM_DESTROY;
    }
    EXPECT_TRUE(entered);
}

TEST(NvtxCalls, TheRanksOfAChildAreNotTheParents) {
    const RawSpool spool = recorded([] {
        rangePushed("ncclCommSplit", {});
        CallFields fields;
        fields.set("NCCL communicator ID", 0xc1d);
        fields.set("Parent NCCL communicator ID", kComm);
        fields.set("No. of ranks", 8);
        fields.set("Rank", 5);
        rangePopped(fields);
        call("ncclAlltoAll", payload(10, 0xc1d), kStream);
    });
    for (const raw::Comm& comm : spool.historyOf<raw::Comm>()) {
        EXPECT_EQ(comm.nranks, 0U);
    }
    ASSERT_EQ(eager(spool).size(), 1U);
    EXPECT_EQ(eager(spool)[0].messageBytes, 0U) << "unknown until the number of ranks is";
    EXPECT_EQ(eager(spool)[0].count, 10U);
}

TEST(NvtxCalls, AnOldNcclOrAnUnreadablePayloadIsPartial) {
    const RawSpool old = recorded([] { call("ncclAllReduce", payload(8, 0), kStream); });
    EXPECT_EQ(eager(old).size(), 1U);
    EXPECT_EQ(lastCoverage(old, raw::CoverageSource::nccl_nvtx).state,
        static_cast<std::uint32_t>(raw::CoverageState::Partial));

    const RawSpool unreadable = recorded([] {
        CallFields fields;
        fields.isReadable = false;
        call("ncclAllReduce", fields, kStream);
        call("ncclAllReduce", payload(8), kStream);
    });
    EXPECT_EQ(eager(unreadable).size(), 1U);
    EXPECT_EQ(lastCoverage(unreadable, raw::CoverageSource::nccl_nvtx).state,
        static_cast<std::uint32_t>(raw::CoverageState::Partial));
}

TEST(NvtxCalls, RangesBegunBeforeTheRecordingDoNoHarm) {
    const RawSpool spool = recorded([] {
        rangePopped(payload(3));
        initComm(kComm, 2, 0);
        call("ncclAllReduce", payload(8), kStream);
    });
    EXPECT_EQ(eager(spool).size(), 1U);
}

TEST(NvtxAndPlugin, OneRecordACallAndItKnowsWhatEitherKnows) {
    const RawSpool spool = recorded([] {
        rangePushed("ncclCommInitRank", {});
        void* comm = openV5(kComm, 4, 2);
        CallFields init;
        init.comm = kComm;
        init.nranks = 4;
        init.rank = 2;
        rangePopped(init);

        rangePushed("ncclAllReduce", payload(4000));
        pluginAllReduce(comm, 1000);
        rangePopped({});
        CallFields send = payload(40);
        send.peer = 3;
        rangePushed("ncclSend", send);
        pluginP2p(comm, "Send", 10);
        rangePopped({});
        rangePushed("ncclAlltoAll", payload(40));
        for (int rank = 0; rank < 4; ++rank) {
            pluginP2p(comm, "Send", 10);
            pluginP2p(comm, "Recv", 10);
        }
        rangePopped({});
        rangePushed("ncclAllReduce", payload(8)); // one the plugin does not report
        asks(kStream);
        rangePopped({});
    });
    const auto ops = eager(spool);
    ASSERT_EQ(ops.size(), 4U);
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(ops[i].source, static_cast<std::uint16_t>(raw::CommSource::NcclPlugin)) << i;
        EXPECT_EQ(ops[i].dtype, GD_RT_FLOAT32) << i;
    }
    EXPECT_EQ(ops[0].messageBytes, 4000U);
    EXPECT_EQ(ops[1].peer, 3) << "only NVTX names it";
    EXPECT_EQ(ops[2].kind, GD_RT_COMM_ALL_TO_ALL) << "one call, not 4 sends and 4 receives";
    EXPECT_EQ(ops[2].messageBytes, 160U);
    EXPECT_EQ(ops[3].source, static_cast<std::uint16_t>(raw::CommSource::NcclNvtx));
}

TEST(NvtxAndPlugin, VersionFourLeavesCallsToNvtxWhichKnowsTheirStream) {
    const RawSpool spool = recorded([] {
        void* comm = nullptr;
        int mask = 0;
        ncclProfiler_v4.init(&comm, &mask, "dp", kComm, 1, 2, 0, nullptr);
        const auto planned = [&](std::size_t count) {
            abi::EventV4 event{};
            event.type = abi::kColl;
            event.coll.func = "AllReduce";
            event.coll.datatype = "ncclFloat32";
            event.coll.count = count;
            void* handle = nullptr;
            ncclProfiler_v4.startEvent(comm, &handle, &event);
        };
        beginCapture(kStream);
        asks(kStream);
        planned(1); // no NVTX range so far: the plugin's own record
        asks(kStream + 1);
        planned(2);
        range("ncclGroupStart");
        call("ncclAllReduce", payload(12), kStream);
        rangePushed("ncclGroupEnd", {});
        planned(3);
        rangePopped({});
    });
    const auto inGraph = captured(spool);
    ASSERT_EQ(inGraph.size(), 2U);
    EXPECT_EQ(inGraph[0].count, 1U);
    EXPECT_EQ(inGraph[1].source, static_cast<std::uint16_t>(raw::CommSource::NcclNvtx));
    ASSERT_EQ(eager(spool).size(), 1U);
    EXPECT_EQ(eager(spool)[0].count, 2U);
}

} // namespace gd::nccl
