// SPDX-License-Identifier: Apache-2.0
// Communicators and calls from several sources arrive as one life and one call each.
#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "tests/unit/import/round_trip_fixture.h"

#include <gmock/gmock.h>

namespace gd::test {
namespace {

using testing::ElementsAre;

constexpr auto kPlugin = static_cast<std::uint16_t>(raw::CommSource::NcclPlugin);
constexpr auto kNvtx = static_cast<std::uint16_t>(raw::CommSource::NcclNvtx);

raw::Comm comm(
    std::int64_t startNs, std::int64_t endNs, std::uint64_t hash, raw::Life life, std::uint16_t source) {
    raw::Comm record{};
    record.startNs = kStart + startNs;
    record.endNs = endNs == 0 ? 0 : kStart + endNs;
    record.hash = hash;
    record.nranks = 2;
    record.rank = 1;
    record.life = static_cast<std::uint16_t>(life);
    record.device = raw::kNoDevice;
    record.thread = 1;
    record.source = source;
    return record;
}

raw::CommOp op(
    std::uint64_t id, std::uint64_t hash, std::uint16_t source, gd_rt_comm_kind kind, std::uint64_t count) {
    raw::CommOp record{};
    record.timeNs = kStart + 10 + static_cast<std::int64_t>(id);
    record.op = id;
    record.hash = hash;
    record.count = count;
    record.messageBytes = count * 4;
    record.thread = 1;
    record.peer = -1;
    record.kind = static_cast<std::uint16_t>(kind);
    record.dtype = GD_RT_FLOAT32;
    record.source = source;
    return record;
}

void cover(SpoolWriter& spool, raw::CoverageSource source, std::int64_t timeNs, raw::CoverageState state,
    const char* reason = "") {
    raw::Coverage record{};
    record.timeNs = kStart + timeNs;
    record.source = static_cast<std::uint32_t>(source);
    record.state = static_cast<std::uint32_t>(state);
    record.reason = spool.string(reason);
    spool.history(record);
}

TEST_F(RoundTrip, Communication) {
    auto& b = builder();
    raw::Comm comm{};
    comm.startNs = kStart + 1;
    comm.endNs = kStart + 2;
    comm.hash = 0xabc;
    comm.nranks = 2;
    comm.rank = 1;
    comm.life = 1;
    b.history(comm);
    comm.life = 4;
    comm.startNs = kStart + 90;
    comm.endNs = 0;
    comm.thread = 1;
    b.history(comm);
    raw::CommOp op{};
    op.timeNs = kStart + 10;
    op.op = 1;
    op.hash = 0xabc;
    op.count = 16;
    op.messageBytes = 64;
    op.capture = 4;
    op.thread = 1;
    op.peer = -1;
    op.kind = GD_RT_COMM_ALL_REDUCE;
    op.dtype = GD_RT_FLOAT32;
    op.source = 1;
    b.history(op);
    finish();
    EXPECT_EQ(one("SELECT comm_hash, nranks, rank, created_ns, destroy_start_ns, destroy_end_ns, "
                  "destroy_thread_id FROM nccl_comm"),
        "2748|2|1|2|90|NULL|1");
    EXPECT_EQ(one("SELECT op_id, comm_hash, kind, count, dtype, message_bytes, peer, thread_id, time_ns, "
                  "capture_id, source FROM nccl_op"),
        "1|2748|all_reduce|16|float32|64|NULL|1|10|4|runtime");
}

TEST_F(RoundTrip, TwoSourcesTellOneCommunicatorsLife) {
    auto& b = builder();
    b.history(comm(1, 2, 0xabc, raw::Life::Created, kPlugin));
    raw::Comm seen = comm(1, 3, 0xabc, raw::Life::Created, kNvtx);
    seen.device = 3;
    b.history(seen);
    b.history(comm(90, 0, 0xabc, raw::Life::Destroyed, kNvtx)); // entered
    b.history(comm(95, 96, 0xabc, raw::Life::Destroyed, kPlugin)); // from another thread of NCCL's
    raw::Comm left = comm(90, 99, 0xabc, raw::Life::Destroyed, 0); // returned
    left.nranks = left.rank = 0;
    b.history(left);
    finish();
    EXPECT_EQ(one("SELECT count(*), nranks, rank, device_id, created_ns, destroy_start_ns, destroy_end_ns "
                  "FROM nccl_comm"),
        "1|2|1|3|2|90|99");
}

TEST_F(RoundTrip, ADestroyThatHangsHasNoEndWhateverThePluginSays) {
    auto& b = builder();
    b.history(comm(1, 2, 0xabc, raw::Life::Created, kPlugin));
    b.history(comm(90, 0, 0xabc, raw::Life::Destroyed, kNvtx));
    b.history(comm(95, 96, 0xabc, raw::Life::Destroyed, kPlugin));
    finish();
    EXPECT_EQ(one("SELECT destroy_start_ns, destroy_end_ns FROM nccl_comm"), "90|NULL");
}

TEST_F(RoundTrip, ASplitCommunicatorsRanksComeWithItsDestruction) {
    auto& b = builder();
    raw::Comm child = comm(1, 2, 0xc1d, raw::Life::Created, kNvtx);
    child.nranks = child.rank = 0;
    b.history(child);
    raw::CommOp exchange = op(1, 0xc1d, kNvtx, GD_RT_COMM_ALL_TO_ALL, 10);
    exchange.dtype = raw::kByteDtype;
    exchange.messageBytes = 0;
    b.event(1, exchange);
    raw::CommOp lost = exchange;
    lost.op = 2;
    lost.hash = 0xdead;
    b.event(1, lost);
    b.history(comm(90, 99, 0xc1d, raw::Life::Destroyed, kNvtx));
    finish();
    EXPECT_EQ(one("SELECT nranks, rank, device_id FROM nccl_comm"), "2|1|NULL");
    EXPECT_EQ(one("SELECT count(*), sum(message_bytes), dtype FROM nccl_op"), "1|20|byte");
    EXPECT_EQ(one("SELECT count FROM trace_issue WHERE code = 'unknown_communicator'"), "1");
}

TEST_F(RoundTrip, AGatherIsItsSendsAndReceives) {
    auto& b = builder();
    b.history(comm(1, 2, 0xabc, raw::Life::Created, kNvtx)); // here is rank 1 of 2
    raw::CommOp gather = op(1, 0xabc, kNvtx, GD_RT_COMM_SEND, 25);
    gather.kind = raw::kGatherKind;
    gather.peer = 1;
    b.event(1, gather);
    raw::CommOp scatter = op(2, 0xabc, kNvtx, GD_RT_COMM_SEND, 5);
    scatter.kind = raw::kScatterKind;
    scatter.peer = 0;
    b.event(1, scatter);
    raw::CommOp elsewhere = op(3, 0xdef, kNvtx, GD_RT_COMM_SEND, 1);
    elsewhere.kind = raw::kGatherKind;
    elsewhere.peer = 0;
    b.event(1, elsewhere);
    finish();
    EXPECT_THAT(rows("SELECT comm_hash, kind, peer, message_bytes FROM nccl_op ORDER BY time_ns, op_id"),
        ElementsAre(
            "2748|send|1|100", "2748|recv|0|100", "2748|recv|1|100", "2748|recv|0|20", "3567|send|0|4"));
    EXPECT_EQ(one("SELECT count FROM trace_issue WHERE code = 'unknown_communicator'"), "1");
}

TEST_F(RoundTrip, TwoRanksOfOneCommunicatorInOneProcessAreTwoLives) {
    auto& b = builder();
    for (const std::uint16_t source : {kPlugin, kNvtx}) {
        for (const std::uint32_t rank : {0U, 1U}) {
            raw::Comm record = comm(1 + rank, 5 + rank, 0xabc, raw::Life::Created, source);
            record.rank = rank;
            b.history(record);
        }
    }
    finish();
    EXPECT_EQ(one("SELECT count(*), min(rank), max(rank) FROM nccl_comm"), "2|0|1");
}

TEST_F(RoundTrip, CallsOfOneCommunicatorMayComeFromTwoSources) {
    auto& b = builder();
    b.event(1, op(1, 0xabc, kPlugin, GD_RT_COMM_ALL_REDUCE, 16));
    b.event(1, op(2, 0xabc, kNvtx, GD_RT_COMM_ALL_GATHER, 8)); // one that the plugin did not report
    finish();
    EXPECT_THAT(rows("SELECT kind, source, message_bytes FROM nccl_op ORDER BY op_id"),
        ElementsAre("all_reduce|nccl_plugin|64", "all_gather|nccl_nvtx|32"));
}

TEST_F(RoundTrip, CommunicationIsCoveredByTheBestOfItsSourcesAtEachMoment) {
    using raw::CoverageSource;
    using raw::CoverageState;
    auto& b = builder();
    cover(b, CoverageSource::nccl_nvtx, 0, CoverageState::Absent, "no call so far");
    cover(b, CoverageSource::nccl_nvtx, 100, CoverageState::Partial, "old NCCL");
    cover(b, CoverageSource::nccl_plugin, 200, CoverageState::Complete);
    cover(b, CoverageSource::nccl_plugin, 300, CoverageState::Absent, "switched off");
    finish();
    EXPECT_THAT(
        rows("SELECT from_ns, to_ns, state, reason FROM coverage WHERE source = 'comm_ops' ORDER BY from_ns"),
        ElementsAre("0|300|complete|NULL", "300|1000000|partial|old NCCL"))
        << "what a source says first, within a second of the start, holds from the start";
}

} // namespace
} // namespace gd::test
