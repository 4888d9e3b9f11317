// SPDX-License-Identifier: Apache-2.0
// Processes that are killed at random moments while four threads record as fast as they can: every record
// whose append returned must be in the segment or the ring, with no gap in the sequence numbers beyond what
// the loss counters state.
#include "collector/raw/records_activity.h"
#include "collector/raw/records_memory.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gd {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

constexpr unsigned kThreads = 4;
constexpr std::uint64_t kEventsPerAllocation = 16;

/// How far each thread came, in memory that outlives it.
struct Acknowledged {
    alignas(64) std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> allocations{0};
};
using Progress = std::array<Acknowledged, kThreads>;

/// Event payloads and addresses say whose and which they are.
std::uint64_t numbered(unsigned thread, std::uint64_t number) {
    return std::uint64_t{thread + 1} << 48 | number;
}

void record(unsigned thread, Acknowledged& mine) {
    gd_rt_range mark{};
    mark.size = sizeof mark;
    mark.op = GD_RT_RANGE_MARK;
    gd_rt_memory memory{};
    memory.size = sizeof memory;
    memory.kind = GD_RT_MEMORY_DEVICE;
    memory.bytes = 1;
    for (std::uint64_t i = 0;; ++i) {
        mark.u64 = numbered(thread, i);
        session::sink::range(mark);
        mine.events.store(i + 1, std::memory_order_release);
        if (i % kEventsPerAllocation == 0) {
            memory.ptr = numbered(thread, i / kEventsPerAllocation);
            session::sink::alloc(memory);
            mine.allocations.store(i / kEventsPerAllocation + 1, std::memory_order_release);
        }
    }
}

/// Numbers that are missing below the highest sequence of a lane.
std::uint64_t gaps(const std::vector<test::RawRecord>& records) {
    if (records.empty()) {
        return 0;
    }
    for (std::size_t i = 1; i < records.size(); ++i) {
        EXPECT_NE(records[i].sequence, records[i - 1].sequence) << "a sequence number was used twice";
    }
    return records.back().sequence + std::uint64_t{1} - records.size();
}

/// Acknowledged numbers 0 … acknowledged-1 that are not among `found`.
std::uint64_t missing(const std::vector<bool>& found, std::uint64_t acknowledged) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < acknowledged; ++i) {
        count += i >= found.size() || !found[i] ? 1 : 0;
    }
    return count;
}

/// Of the acknowledged events, those that are missing although the names of the files say that events are
/// complete from `fromNs` on. Numbers and times of one thread grow together.
std::uint64_t missingSince(
    const std::map<std::uint64_t, std::int64_t>& timeOf, std::uint64_t acknowledged, std::int64_t fromNs) {
    std::uint64_t count = 0;
    std::uint64_t expected = 0;
    bool isSince = fromNs == 0;
    for (const auto& [number, timeNs] : timeOf) {
        count += isSince ? number - expected : 0;
        isSince = timeNs > fromNs;
        expected = number + 1;
    }
    return count + (isSince && acknowledged > expected ? acknowledged - expected : 0);
}

void mark(std::vector<bool>& found, std::uint64_t number) {
    if (number >= found.size()) {
        found.resize(number * 2 + 1024);
    }
    EXPECT_FALSE(found[number]) << "a record was found twice";
    found[number] = true;
}

struct Totals {
    std::uint64_t records = 0;
    std::uint64_t dropped = 0;
    std::uint64_t onlyInRing = 0;
    unsigned withoutDrops = 0;
    unsigned shortened = 0;
};

void check(const RawSpool& raw, const Progress& progress, Totals& totals) {
    std::array<std::vector<bool>, kThreads> events;
    std::array<std::map<std::uint64_t, std::int64_t>, kThreads> timeOf;
    std::array<std::vector<bool>, kThreads> allocations;
    std::uint64_t eventGaps = 0;
    for (const auto& [thread, records] : raw.events) {
        eventGaps += gaps(records);
        for (const raw::Range& range : raw.all<raw::Range>(records)) {
            mark(events.at((range.payload >> 48) - 1), range.payload & 0xffffffffffff);
            timeOf.at((range.payload >> 48) - 1).emplace(range.payload & 0xffffffffffff, range.timeNs);
        }
        totals.records += records.size();
    }
    for (const raw::Alloc& alloc : raw.historyOf<raw::Alloc>()) {
        mark(allocations.at((alloc.address >> 48) - 1), alloc.address & 0xffffffffffff);
    }
    std::uint64_t lostEvents = 0;
    std::uint64_t lostAllocations = 0;
    for (unsigned t = 0; t < kThreads; ++t) {
        lostEvents += raw.eventsFromNs == 0 ? missing(events[t], progress[t].events)
                                            : missingSince(timeOf[t], progress[t].events, raw.eventsFromNs);
        lostAllocations += missing(allocations[t], progress[t].allocations);
    }
    const std::uint64_t droppedEvents = raw.header.loss[1].droppedRecords;
    const std::uint64_t droppedHistory = raw.header.loss[0].droppedRecords;
    EXPECT_LE(lostEvents, droppedEvents);
    if (raw.eventsFromNs == 0) {
        EXPECT_LE(eventGaps, droppedEvents);
    }
    EXPECT_LE(lostAllocations, droppedHistory);
    // A thread that was killed between taking a place and committing leaves its number behind.
    EXPECT_LE(gaps(raw.history), droppedHistory + kThreads + 2);
    totals.records += raw.history.size();
    totals.shortened += raw.eventsFromNs != 0 ? 1 : 0;
    totals.dropped += droppedEvents + droppedHistory;
    totals.onlyInRing += raw.ringChunks;
    totals.withoutDrops += droppedEvents + droppedHistory == 0 ? 1 : 0;
}

void pauseNs(long ns) {
    const timespec pause{0, ns};
    nanosleep(&pause, nullptr);
}

/// Events were removed: the first piece of them is gone.
bool isShortened(const SpoolBuilder& spool) {
    bool any = false;
    for (const auto& entry : std::filesystem::directory_iterator(spool.path())) {
        const std::string name = entry.path().filename().string();
        // <stem>.<number>.<since>.events
        const std::size_t since = name.rfind('.', name.size() - sizeof ".events");
        if (!name.ends_with(".events") || since == std::string::npos) {
            continue;
        }
        any = true;
        if (name.substr(0, since).ends_with(".0")) {
            return false;
        }
    }
    return any;
}

/// The moment of the kill: some at any time, which may be before the first record; most when a thread has
/// come so far, or when the oldest events have gone, however long the machine takes for that.
void awaitMoment(
    std::mt19937& random, const Progress& progress, const SpoolBuilder& spool, bool keepsLatest) {
    const std::uint32_t kind = random() % 4;
    const Acknowledged& one = progress[random() % kThreads];
    const std::uint64_t target = random() % 60'000;
    pauseNs(static_cast<long>(1'000'000 + random() % 60'000'000));
    for (int i = 0; i < 600'000 && kind != 0; ++i) {
        if (keepsLatest && kind != 1 ? isShortened(spool) : one.events.load() >= target) {
            return;
        }
        pauseNs(100'000);
    }
}

void killOnce(std::mt19937& random, Totals& totals) {
    auto* progress = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(progress), MAP_FAILED);
    new (progress) Progress;
    SpoolBuilder spool("/dev/shm");
    // Small pools wrap many times, large ones lose nothing: both must hold.
    spool.setVariable("GRAPHDOCTOR_RING_BYTES", random() % 2 == 0 ? "4194304" : "134217728");
    // Every other one keeps only its latest events: at any moment the files that are there say from when on.
    const std::uint64_t keptBytes = random() % 2 == 0 ? 0 : 300'000 + random() % 1'000'000;
    if (keptBytes != 0) {
        spool.setVariable("GRAPHDOCTOR_LIMITS", "keep=" + std::to_string(keptBytes));
    }
    const pid_t child = spool.start([progress] {
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < kThreads; ++t) {
            threads.emplace_back([t, progress] { record(t, (*progress)[t]); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    });
    awaitMoment(random, *progress, spool, keptBytes != 0);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (!spool.segments().empty()) {
        const std::string segment = spool.segments().front();
        const RawSpool raw(segment, SpoolBuilder::ringOf(segment));
        check(raw, *progress, totals);
        if (keptBytes != 0) {
            EXPECT_LE(raw.eventBytes, keptBytes + raw::kChunkBytes);
        }
    }
    munmap(progress, sizeof(Progress));
}

} // namespace

TEST(Kill, LosesNothingThatWasAcknowledged) {
    const char* wanted = std::getenv("GD_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 40;
    std::mt19937 random(20261129);
    Totals totals;
    for (int i = 0; i < kills && !HasFailure(); ++i) {
        SCOPED_TRACE("kill " + std::to_string(i));
        killOnce(random, totals);
    }
    std::printf(
        "%d kills, %.1f M records found, %llu chunks only in the ring, %llu records dropped and counted, "
        "%u runs without a drop, %u with their oldest events removed\n",
        kills, static_cast<double>(totals.records) / 1e6, static_cast<unsigned long long>(totals.onlyInRing),
        static_cast<unsigned long long>(totals.dropped), totals.withoutDrops, totals.shortened);
    EXPECT_GT(totals.records, 0u);
    EXPECT_GT(totals.onlyInRing, 0u);
    EXPECT_GT(totals.shortened, 0u);
}

} // namespace gd
