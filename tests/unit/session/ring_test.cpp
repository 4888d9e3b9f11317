// SPDX-License-Identifier: Apache-2.0
#include "collector/session/ring.h"

#include "collector/raw/records_activity.h"
#include "collector/raw/records_process.h"
#include "collector/session/interner.h"
#include "tests/support/raw_reader.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

using test::RawSpool;

class RingTest : public testing::Test {
protected:
    void SetUp() override {
        path = testing::TempDir() + "gd-ring-" + std::to_string(getpid()) + "-"
            + testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove(path);
        Ring::Options options;
        options.path = path.c_str();
        options.segmentPath = "none";
        options.bytes = 8 * raw::kChunkBytes;
        options.pid = 1;
        options.processKey = 2;
        ASSERT_TRUE(ring->open(options));
    }
    void TearDown() override { std::filesystem::remove(path); }

    bool mark(ThreadLane& lane, std::uint64_t payload) {
        raw::Range record{};
        record.payload = payload;
        return ring->append(lane, record);
    }
    RawSpool found() const { return RawSpool("", path); }
    /// What the drainer does, without a segment.
    unsigned recycleFull() {
        unsigned count = 0;
        for (std::uint32_t i = 0; i < ring->chunkCount(); ++i) {
            if (ring->slot(i).state == static_cast<std::uint32_t>(raw::ChunkState::Full)) {
                ring->recycle(i);
                ++count;
            }
        }
        return count;
    }

    std::string path;
    std::unique_ptr<Ring> ring = std::make_unique<Ring>();
};

TEST_F(RingTest, RecordsAreInTheFileAsSoonAsAppendReturns) {
    ThreadLane lane;
    lane.thread = 3;
    for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(mark(lane, i));
        const RawSpool now = found();
        ASSERT_EQ(now.events.at(3).size(), i + 1);
        EXPECT_EQ(now.events.at(3).back().as<raw::Range>().payload, i);
    }
}

TEST_F(RingTest, AThreadStartsWithASliceAndEarnsAChunk) {
    ThreadLane lane;
    lane.thread = 1;
    ASSERT_TRUE(mark(lane, 0));
    EXPECT_TRUE(lane.isSlice);
    std::uint64_t sent = 1;
    while (lane.isSlice) {
        ASSERT_TRUE(mark(lane, sent++));
    }
    EXPECT_EQ(sent, (raw::kSliceBytes - sizeof(raw::ChunkHeader)) / sizeof(raw::Range) + 1);
    ring->release(lane);
    ASSERT_TRUE(mark(lane, sent++));
    EXPECT_TRUE(lane.isSlice) << "a released thread starts small again";
    EXPECT_EQ(found().events.at(1).size(), sent);
}

TEST_F(RingTest, DropsWhenNobodyDrainsAndGoesOnAfterwards) {
    ASSERT_TRUE(ring->prepare());
    ThreadLane lane;
    lane.thread = 1;
    std::uint64_t kept = 0;
    std::uint64_t sent = 0;
    for (; sent < 100'000; ++sent) {
        kept += mark(lane, sent) ? 1 : 0;
    }
    EXPECT_LT(kept, sent);
    EXPECT_EQ(found().header.loss[1].droppedRecords, sent - kept);
    EXPECT_EQ(found().header.loss[1].droppedBytes, (sent - kept) * sizeof(raw::Range));
    EXPECT_EQ(found().events.at(1).size(), kept);
    EXPECT_GT(recycleFull(), 0u);
    EXPECT_TRUE(mark(lane, sent));
    const RawSpool after = found();
    EXPECT_EQ(after.events.at(1).back().sequence, sent) << "dropped records use up their numbers";
}

TEST_F(RingTest, HistoryFromManyThreadsHasEverySequenceOnce) {
    ASSERT_TRUE(ring->prepare());
    constexpr std::uint32_t kEach = 5000;
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            for (std::uint32_t i = 0; i < kEach; ++i) {
                raw::ProcessFact record{};
                record.key = t;
                record.value = i;
                ASSERT_TRUE(ring->appendHistory(record));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const RawSpool raw = found();
    ASSERT_EQ(raw.history.size(), 4 * kEach);
    for (std::uint32_t i = 0; i < raw.history.size(); ++i) {
        ASSERT_EQ(raw.history[i].sequence, i);
    }
    EXPECT_EQ(raw.header.historyRecords, 4 * kEach);
    std::vector<std::uint32_t> next(4);
    for (const raw::ProcessFact& fact : raw.historyOf<raw::ProcessFact>()) {
        EXPECT_EQ(fact.value, next[fact.key]++) << "one thread's records keep their order";
    }
}

TEST_F(RingTest, DroppedHistoryLeavesAGapOfItsSize) {
    ThreadLane lane;
    lane.thread = 1;
    raw::ProcessFact record{};
    ASSERT_TRUE(ring->appendHistory(record));
    ring->sealHistory();
    while (mark(lane, 0)) { }
    EXPECT_FALSE(ring->appendHistory(record));
    EXPECT_FALSE(ring->appendHistory(record));
    ring->release(lane);
    ASSERT_GT(recycleFull(), 0u);
    ASSERT_TRUE(ring->appendHistory(record));
    EXPECT_EQ(found().history.back().sequence, 3u);
    EXPECT_EQ(found().header.loss[0].droppedRecords, 2u);
}

TEST_F(RingTest, AHoleDoesNotHideWhatFollows) {
    raw::ProcessFact record{};
    record.value = 1;
    ASSERT_TRUE(ring->appendHistory(record));
    record.value = 2;
    ASSERT_TRUE(ring->appendHistory(record));
    record.value = 3;
    ASSERT_TRUE(ring->appendHistory(record));
    // A writer that was killed between reserving its place and committing.
    for (std::uint32_t i = 0; i < ring->chunkCount(); ++i) {
        if (ring->slot(i).use == static_cast<std::uint32_t>(raw::ChunkUse::History)
            && ring->slot(i).state == static_cast<std::uint32_t>(raw::ChunkState::Filling)) {
            auto* second = reinterpret_cast<raw::RecordHeader*>(
                ring->chunkAt(i) + sizeof(raw::ChunkHeader) + sizeof record);
            if (second->size8 != 0) {
                second->kind = raw::kReservedRecordBit | second->size8;
                second->size8 = 0;
            }
        }
    }
    const RawSpool raw = found();
    ASSERT_EQ(raw.history.size(), 2u);
    EXPECT_EQ(raw.history[0].sequence, 0u);
    EXPECT_EQ(raw.history[1].sequence, 2u);
}

TEST_F(RingTest, AnIdleThreadsChunkCanBeTakenAway) {
    ThreadLane lane;
    lane.thread = 1;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(mark(lane, i));
    }
    ASSERT_FALSE(lane.isSlice);
    const std::uint32_t slot = lane.slot;
    lane.busy = 1;
    EXPECT_FALSE(ring->reclaim(
        lane, +[]() noexcept { return true; }))
        << "the thread is inside";
    lane.busy = 0;
    EXPECT_TRUE(ring->reclaim(
        lane, +[]() noexcept { return true; }));
    EXPECT_EQ(ring->slot(slot).state, static_cast<std::uint32_t>(raw::ChunkState::Full));
    ASSERT_TRUE(mark(lane, 1000));
    EXPECT_TRUE(lane.isSlice);
    EXPECT_EQ(found().events.at(1).size(), 1001u);
}

// The owner changed its chunk after it was asked and before the drainer looked: it may be storing into the
// new one.
TEST_F(RingTest, AChunkThatIsNewSinceTheOwnerWasAskedStays) {
    static decltype(this) self = nullptr;
    static ThreadLane* owner = nullptr;
    ThreadLane lane;
    lane.thread = 1;
    self = this;
    owner = &lane;
    ASSERT_TRUE(mark(lane, 0));
    const raw::ChunkHeader* before = lane.chunk;
    EXPECT_TRUE(ring->reclaim(
        lane, +[]() noexcept { return self->mark(*owner, 1); }));
    EXPECT_NE(lane.chunk, before);
    EXPECT_NE(lane.chunk, nullptr);
    EXPECT_TRUE(mark(lane, 2));
    EXPECT_EQ(found().events.at(1).size(), 3u);
}

TEST_F(RingTest, HoldsWhatWasBegunBeforeAMarkUntilItIsRecycled) {
    ThreadLane lane;
    lane.thread = 1;
    raw::ProcessFact record{};
    EXPECT_FALSE(ring->holdsBefore(ring->mark()));
    ASSERT_TRUE(mark(lane, 0));
    ASSERT_TRUE(ring->appendHistory(record));
    const Ring::Mark both = ring->mark();
    EXPECT_TRUE(ring->holdsBefore(both));
    ring->sealHistory();
    EXPECT_EQ(recycleFull(), 1u);
    EXPECT_TRUE(ring->holdsBefore(both)) << "the slice";
    ring->sealSlices();
    ring->release(lane);
    ASSERT_TRUE(mark(lane, 1));
    ASSERT_TRUE(ring->appendHistory(record));
    EXPECT_EQ(recycleFull(), 1u);
    EXPECT_FALSE(ring->holdsBefore(both)) << "what came later does not count";
    EXPECT_TRUE(ring->holdsBefore(ring->mark()));
}

TEST_F(RingTest, WithoutAFenceTheOwnerHandsOverAtItsNextRecord) {
    ThreadLane lane;
    lane.thread = 1;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(mark(lane, i));
    }
    const std::uint32_t slot = lane.slot;
    EXPECT_FALSE(ring->reclaim(
        lane, +[]() noexcept { return false; }));
    EXPECT_EQ(ring->slot(slot).state, static_cast<std::uint32_t>(raw::ChunkState::Filling));
    ASSERT_TRUE(mark(lane, 1000));
    EXPECT_EQ(ring->slot(slot).state, static_cast<std::uint32_t>(raw::ChunkState::Full));
    EXPECT_TRUE(lane.isSlice);
}

TEST_F(RingTest, AChunkOfSlicesIsFullWhenTheLastSliceComesBack) {
    std::vector<std::unique_ptr<ThreadLane>> lanes;
    for (raw::ThreadRef t = 1; t <= 64; ++t) {
        lanes.push_back(std::make_unique<ThreadLane>());
        lanes.back()->thread = t;
        ASSERT_TRUE(mark(*lanes.back(), t));
        EXPECT_EQ(lanes.back()->slot, lanes.front()->slot);
    }
    const std::uint32_t slot = lanes.front()->slot;
    for (auto& lane : lanes) {
        EXPECT_EQ(ring->slot(slot).state, static_cast<std::uint32_t>(raw::ChunkState::Filling));
        ring->release(*lane);
    }
    EXPECT_EQ(ring->slot(slot).state, static_cast<std::uint32_t>(raw::ChunkState::Full));
    EXPECT_EQ(found().eventsOf<raw::Range>().size(), 64u);
}

TEST_F(RingTest, RecycledChunksShowNothingOfTheirPast) {
    ThreadLane lane;
    lane.thread = 1;
    for (int round = 0; round < 50; ++round) {
        for (std::uint64_t i = 0; i < 3000; ++i) {
            ASSERT_TRUE(mark(lane, i));
        }
        ring->release(lane);
        raw::ProcessFact record{};
        ASSERT_TRUE(ring->appendHistory(record));
        ring->sealHistory();
        ring->sealSlices();
        recycleFull();
        EXPECT_THAT(found().history, testing::IsEmpty()) << "round " << round;
        EXPECT_THAT(found().eventsOf<raw::Range>(), testing::IsEmpty()) << "round " << round;
    }
}

TEST_F(RingTest, EqualContentsGetEqualIdsAndOneRecord) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    std::vector<std::thread> threads;
    std::array<std::array<raw::StringRef, 200>, 4> ids{};
    for (std::size_t t = 0; t < ids.size(); ++t) {
        threads.emplace_back([&strings, &mine = ids[t]] {
            for (std::size_t i = 0; i < mine.size(); ++i) {
                mine[i] = strings.string("name " + std::to_string(i));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::size_t t = 1; t < ids.size(); ++t) {
        EXPECT_EQ(ids[t], ids[0]);
    }
    EXPECT_EQ(strings.string(""), 0u);
    const RawSpool raw = found();
    EXPECT_EQ(raw.historyOf<raw::String>().size(), 200u);
    EXPECT_EQ(raw.string(ids[0][7]), "name 7");
}

TEST_F(RingTest, NamesThatAJobNumbersTakeNoMoreThanTheirBudget) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    const auto name = [&strings](std::uint64_t i, std::size_t bytes) {
        std::string text = "step " + std::to_string(i) + " of ";
        text.resize(bytes, 'x');
        return strings.name(text);
    };
    constexpr std::size_t kBytes = 64 * 1024;
    const raw::StringRef first = name(0, kBytes);
    std::uint64_t kept = 1;
    for (; strings.namesLeftOut() == 0 && kept < 1000; ++kept) {
        EXPECT_NE(name(kept, kBytes), first);
        ring->sealHistory();
        recycleFull();
    }
    EXPECT_EQ(kept - 1, Interner::kNameBudget / (kBytes + Interner::kNameCost));
    // Small ones that still fit; each is new.
    for (std::uint64_t i = 0; strings.namesLeftOut() == 1 && i < 1000; ++i) {
        name(i, 32);
    }
    ring->sealHistory();
    recycleFull();
    const std::uint64_t before = strings.namesLeftOut();
    EXPECT_EQ(before, 2u);
    // Known ones stay themselves, new ones differ in nothing but their numbers; other strings are not
    // limited.
    EXPECT_EQ(name(0, kBytes), first);
    const raw::StringRef standIn = strings.name("step 77 of 8");
    EXPECT_EQ(strings.name("step 11 of 9"), standIn);
    EXPECT_NE(strings.name("epoch 11 of 9"), standIn);
    const raw::StringRef kernel = strings.string("a kernel 7");
    EXPECT_EQ(found().string(standIn), "step 00 of 0");
    EXPECT_EQ(found().string(kernel), "a kernel 7");
    EXPECT_EQ(strings.namesLeftOut(), before + 3);
}

// A job whose lengths vary launches each kernel in ever new sizes.
TEST_F(RingTest, ShapesOfKernelsAreLimited) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    raw::KernelShape shape{};
    const auto sized = [&](raw::StringRef name, std::uint32_t blocks) {
        shape.name = name;
        shape.grid[0] = blocks;
        return strings.shape(shape);
    };
    const raw::ShapeRef first = sized(1, 1);
    raw::ShapeRef last = 0;
    for (std::uint32_t blocks = 2; blocks <= Interner::kMaxShapes; ++blocks) {
        last = sized(1, blocks);
        if (blocks % 1024 == 0) {
            ring->sealHistory();
            recycleFull();
        }
    }
    EXPECT_EQ(last, Interner::kMaxShapes);
    EXPECT_EQ(strings.shapesLeftOut(), 0u);
    const raw::ShapeRef anySize = sized(1, 1 << 30);
    EXPECT_EQ(sized(1, (1 << 30) + 1), anySize);
    EXPECT_NE(sized(2, 5), anySize);
    EXPECT_EQ(sized(1, 1), first) << "known ones stay themselves";
    EXPECT_EQ(strings.shapesLeftOut(), 3u);
    const std::vector<raw::KernelShape> written = found().historyOf<raw::KernelShape>();
    ASSERT_FALSE(written.empty());
    EXPECT_EQ(written.back().name, 2u);
    EXPECT_EQ(written.back().grid[0], 0u);
}

TEST_F(RingTest, NamesThatAFullRingRefusesLeaveTheBudgetAsItWas) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    const auto name = [&strings](int i) {
        std::string text = std::to_string(i);
        text.resize(std::size_t{64} * 1024, 'x');
        return strings.name(text);
    };
    int next = 0;
    while (next < 1000 && name(next) != 0) {
        ++next;
    }
    ASSERT_LT(next, 1000) << "the ring is never full";
    for (int i = next; i < next + 1000; ++i) { // four times the budget
        ASSERT_EQ(name(i), 0u);
    }
    EXPECT_EQ(strings.namesLeftOut(), 0u);
    ring->sealHistory();
    EXPECT_GT(recycleFull(), 0u);
    EXPECT_NE(name(next), 0u);
    EXPECT_EQ(strings.namesLeftOut(), 0u);
}

TEST_F(RingTest, AStringThatCannotBeKeptIsNotWritten) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    for (int i = 0; i < 200; ++i) { // each shard has a table and a block
        ASSERT_NE(strings.string("name " + std::to_string(i)), 0u);
    }
    const std::string large(std::size_t{300} * 1024, 'x'); // larger than any block
    const std::size_t before = found().historyOf<raw::String>().size();
    rlimit usual{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
    const rlimit none{4096, usual.rlim_max}; // below what is mapped already: nothing more
    ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
    raw::StringRef ids[3];
    for (raw::StringRef& id : ids) {
        id = strings.string(large);
    }
    ASSERT_EQ(setrlimit(RLIMIT_AS, &usual), 0);
    EXPECT_THAT(ids, testing::Each(0u));
    EXPECT_EQ(found().historyOf<raw::String>().size(), before);
    const raw::StringRef id = strings.string(large);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(strings.string(large), id);
}

TEST_F(RingTest, LongStringsAreCutIntoParts) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
        text += static_cast<char>('a' + i % 23);
    }
    const raw::StringRef id = strings.string(text);
    EXPECT_EQ(found().string(id), text);
    EXPECT_GT(found().historyOf<raw::String>().size(), 4u);
}

TEST_F(RingTest, StacksDifferByTheKindOfTheirFrames) {
    ASSERT_TRUE(ring->prepare());
    Interner strings(*ring, 1);
    const std::uint64_t native[2] = {0x100, 0x200};
    raw::PythonFrame python[1] = {{1, 2, 3, 0}};
    const raw::StackRef plain = strings.stack(native, 2, nullptr, 0);
    const raw::StackRef mixed = strings.stack(native, 2, python, 1);
    EXPECT_NE(plain, mixed);
    EXPECT_EQ(strings.stack(native, 2, nullptr, 0), plain);
    std::uint64_t alike[2];
    std::memcpy(alike, python, sizeof python);
    EXPECT_NE(strings.stack(alike, 2, nullptr, 0), strings.stack(nullptr, 0, python, 1));
    EXPECT_EQ(strings.stack(nullptr, 0, nullptr, 0), 0u);
}

} // namespace
} // namespace gd::session
