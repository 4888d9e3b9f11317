// SPDX-License-Identifier: Apache-2.0
#include "collector/raw/chunk.h"
#include "collector/raw/control_page.h"
#include "collector/raw/record.h"
#include "collector/raw/records_activity.h"
#include "collector/raw/records_api.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/raw/ring_header.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

namespace gd::raw {

// Files outlive the library that wrote them: a size or place that changes needs a new kRawVersion.

template <class R> constexpr bool is(RecordKind kind, std::size_t bytes) {
    return R::kKind == kind && sizeof(R) == bytes && offsetof(R, header) == 0;
}
static_assert(kRawVersion == 4);
static_assert(is<ProcessStart>(RecordKind::ProcessStart, 56) && is<ProcessFact>(RecordKind::ProcessFact, 24));
static_assert(is<EnvVar>(RecordKind::EnvVar, 16) && is<Thread>(RecordKind::Thread, 32));
static_assert(is<Module>(RecordKind::Module, 48) && is<String>(RecordKind::String, 24));
static_assert(is<Stack>(RecordKind::Stack, 16) && sizeof(PythonFrame) == 16);
static_assert(
    is<ProcessEnd>(RecordKind::ProcessEnd, 16) && is<SchedulingNoise>(RecordKind::SchedulingNoise, 24));
static_assert(is<Coverage>(RecordKind::Coverage, 32) && is<Loss>(RecordKind::Loss, 32));
static_assert(is<Issue>(RecordKind::Issue, 32) && is<ControlState>(RecordKind::ControlState, 24));
static_assert(is<Device>(RecordKind::Device, 48));
static_assert(is<Context>(RecordKind::Context, 56) && is<Stream>(RecordKind::Stream, 56));
static_assert(is<Event>(RecordKind::Event, 56));
static_assert(is<ApiEnter>(RecordKind::ApiEnter, 48) && is<ApiCall>(RecordKind::ApiCall, 64));
static_assert(is<CaptureBegin>(RecordKind::CaptureBegin, 48) && is<CaptureJoin>(RecordKind::CaptureJoin, 56));
static_assert(is<CaptureFail>(RecordKind::CaptureFail, 96) && is<CaptureEnd>(RecordKind::CaptureEnd, 72));
static_assert(is<ThreadCaptureMode>(RecordKind::ThreadCaptureMode, 24));
static_assert(is<FrameworkBlock>(RecordKind::FrameworkBlock, 56));
static_assert(is<GraphEdge>(RecordKind::GraphEdge, 32));
static_assert(is<ScalarSet>(RecordKind::ScalarSet, 16) && is<EagerLaunch>(RecordKind::EagerLaunch, 40));
static_assert(is<MemoryPool>(RecordKind::MemoryPool, 56) && is<MemorySample>(RecordKind::MemorySample, 48));
static_assert(is<Kernel>(RecordKind::Kernel, 56) && is<GraphTrace>(RecordKind::GraphTrace, 48));
static_assert(is<Memcpy>(RecordKind::Memcpy, 64) && is<Memset>(RecordKind::Memset, 64));
static_assert(offsetof(RingHeader, segmentBytes) == 40 && offsetof(RingHeader, loss) == 48);
static_assert(sizeof(ChunkHeader) == 48 && sizeof(RingSlot) == 16);

TEST(RawLayout, HotKindsFitACacheLine) {
    EXPECT_LE(sizeof(ApiCall), 64u);
    EXPECT_LE(sizeof(Kernel), 64u);
    EXPECT_LE(sizeof(Range), 64u);
}

TEST(RawLayout, CallNumbersAreUniqueAndFitTheTables) {
    std::set<int> numbers;
    std::set<std::string> names;
    int count = 0;
#define GD_CHECK_CALL(number, name, driver, runtime, klass)                                                  \
    numbers.insert(number);                                                                                  \
    names.insert(#name);                                                                                     \
    EXPECT_LT(number, 256);                                                                                  \
    ++count;
    GD_API_CALLS(GD_CHECK_CALL)
#undef GD_CHECK_CALL
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
}

TEST(ChunkChecksum, ChangesWithEveryBitOfHeaderAndPayload) {
    std::vector<std::uint64_t> words(64, 0);
    ChunkHeader header{};
    header.version = kRawVersion;
    header.usedBytes = 512;
    const std::uint64_t whole = chunkChecksum(header, words.data());
    for (std::size_t bit = 0; bit < 512 * 8; ++bit) {
        words[bit / 64] ^= std::uint64_t{1} << (bit % 64);
        EXPECT_NE(chunkChecksum(header, words.data()), whole) << "bit " << bit;
        words[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    }
    const ChunkHeader before = header;
    auto* bytes = reinterpret_cast<unsigned char*>(&header);
    for (std::size_t bit = 0; bit < offsetof(ChunkHeader, usedBytes) * 8; ++bit) {
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
        EXPECT_NE(chunkChecksum(header, words.data()), whole) << "bit " << bit << " of the header";
        header = before;
    }
    header.checksum = 5;
    EXPECT_EQ(chunkChecksum(header, words.data()), whole) << "it cannot cover itself";
    header.usedBytes = 504;
    EXPECT_NE(chunkChecksum(header, words.data()), whole);
    header = {};
    EXPECT_NE(chunkChecksum(header, words.data()), 0u) << "0 means: still in the ring";
}

TEST(ChunkChecksum, UpToVersionThreeCoversThePayloadAlone) {
    const std::uint64_t words[] = {1, 2, 3};
    ChunkHeader header{};
    header.version = 3;
    header.usedBytes = sizeof words;
    const std::uint64_t whole = chunkChecksum(header, words);
    header.pid = 77;
    EXPECT_EQ(chunkChecksum(header, words), whole);
}

TEST(RawLayout, ThreadNumbersTakeTwentyFourBits) {
    ApiCall call{};
    setThread(call, 0xabcdef);
    EXPECT_EQ(threadOf(call), 0xabcdefu);
    setThread(call, 1u << 24);
    EXPECT_EQ(threadOf(call), 0u) << "unknown, and nobody else's number";
    // Up to version 3 there was a device and a thread of 16 bits here.
    const std::uint16_t before[] = {7, 65'535};
    std::memcpy(&call.device, before, sizeof before);
    EXPECT_EQ(call.device, 7u);
    EXPECT_EQ(threadOf(call), 65'535u);
}

} // namespace gd::raw
