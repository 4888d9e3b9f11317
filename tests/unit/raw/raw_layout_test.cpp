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
static_assert(kRawVersion == 2);
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

TEST(ChunkChecksum, ChangesWithEveryBitAndWithTheLength) {
    std::vector<std::uint64_t> words(64, 0);
    const auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    const std::uint64_t whole = chunkChecksum(bytes, 512);
    for (std::size_t bit = 0; bit < 512 * 8; ++bit) {
        words[bit / 64] ^= std::uint64_t{1} << (bit % 64);
        EXPECT_NE(chunkChecksum(bytes, 512), whole) << "bit " << bit;
        words[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    }
    EXPECT_NE(chunkChecksum(bytes, 504), whole);
    EXPECT_NE(chunkChecksum(bytes, 0), 0u) << "0 means: still in the ring";
}

} // namespace gd::raw
