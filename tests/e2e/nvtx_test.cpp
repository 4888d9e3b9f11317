// SPDX-License-Identifier: Apache-2.0
// A program that uses NVTX, with the collector as its NVTX injection.
#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/spool_name.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <cstdlib>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace gd;

int runClient(const char* spool, const char* mode = nullptr) {
    const pid_t child = fork();
    if (child == 0) {
        if (spool != nullptr) {
            setenv(raw::kEnvSpool, spool, 1);
            setenv("NVTX_INJECTION64_PATH", GD_COLLECTOR_LIBRARY, 1);
        }
        execl(GD_NVTX_CLIENT, GD_NVTX_CLIENT, mode, static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

TEST(NvtxInjection, ChangesNothingWithoutASpool) {
    EXPECT_EQ(runClient(nullptr), 0);
}

TEST(NvtxInjection, AChildThatIsForkedWhileNamesAreRegisteredCanRegisterSome) {
    const test::SpoolBuilder builder;
    EXPECT_EQ(runClient(builder.path().c_str(), "forks"), 0);
}

TEST(NvtxInjection, RecordsRangesOfAllDomains) {
    const test::SpoolBuilder builder;
    ASSERT_EQ(runClient(builder.path().c_str()), 0); // the client checks the functions' results
    const std::string segment = builder.segments().at(0);
    const test::RawSpool spool(segment, test::SpoolBuilder::ringOf(segment));
    struct Expected {
        raw::RangeOp op;
        const char* domain;
        const char* name;
        std::uint64_t payload;
    };
    const Expected expected[] = {
        {raw::RangeOp::Push, "", "outer", 0},
        {raw::RangeOp::Push, "", "inn\xc3\xa9r", 0},
        {raw::RangeOp::Mark, "", "here", 0},
        {raw::RangeOp::Pop, "", "", 0},
        {raw::RangeOp::Pop, "", "", 0},
        {raw::RangeOp::Push, "client.domain", "registered", 0x1234567890},
        {raw::RangeOp::Start, "client.domain", "registered", 1},
        {raw::RangeOp::Start, "", "started", 2},
        {raw::RangeOp::End, "", "", 2},
        {raw::RangeOp::End, "client.domain", "", 1},
        {raw::RangeOp::Pop, "client.domain", "", 0},
    };
    auto ranges = spool.eventsOf<raw::Range>();
    std::erase_if(ranges, [&](const raw::Range& range) { return spool.string(range.domain) == "NCCL"; });
    ASSERT_EQ(ranges.size(), std::size(expected));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_EQ(ranges[i].op, static_cast<std::uint16_t>(expected[i].op)) << i;
        EXPECT_EQ(spool.string(ranges[i].domain), expected[i].domain) << i;
        EXPECT_EQ(spool.string(ranges[i].name), expected[i].name) << i;
        EXPECT_EQ(ranges[i].payload, expected[i].payload) << i;
        EXPECT_GE(ranges[i].timeNs, i == 0 ? 0 : ranges[i - 1].timeNs) << i;
    }
    EXPECT_EQ(ranges[5].color, 0xff00ff00U);
}

TEST(NvtxInjection, StructuredPayloadsOfNcclBecomeCalls) {
    const test::SpoolBuilder builder;
    ASSERT_EQ(runClient(builder.path().c_str()), 0);
    const std::string segment = builder.segments().at(0);
    const test::RawSpool spool(segment, test::SpoolBuilder::ringOf(segment));
    const auto comms = spool.historyOf<raw::Comm>();
    ASSERT_EQ(comms.size(), 1U);
    EXPECT_EQ(comms[0].hash, 0xfeedU);
    EXPECT_EQ(comms[0].nranks, 4U);
    EXPECT_EQ(comms[0].rank, 1U);
    const auto ops = spool.eventsOf<raw::CommOp>();
    ASSERT_EQ(ops.size(), 1U);
    EXPECT_EQ(ops[0].kind, GD_RT_COMM_BROADCAST);
    EXPECT_EQ(ops[0].hash, 0xfeedU);
    EXPECT_EQ(ops[0].messageBytes, 8192U);
    EXPECT_EQ(ops[0].peer, 3);
    EXPECT_EQ(ops[0].source, static_cast<std::uint16_t>(raw::CommSource::NcclNvtx));
}

} // namespace
