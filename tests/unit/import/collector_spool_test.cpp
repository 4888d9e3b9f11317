// SPDX-License-Identifier: Apache-2.0
// Spools of the real collector: what processes reported is what the trace holds, also after SIGKILL.
#include "analyzer/import/importer.h"
#include "analyzer/store/trace.h"

#include "collector/raw/chunk.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/ring_header.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "tests/support/spool_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

namespace gd {
namespace {

namespace sink = session::sink;

class CollectorSpool : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(out()); }
    std::filesystem::path out() const {
        return std::filesystem::temp_directory_path()
            / ("gd-collector-spool-" + std::to_string(::getpid()) + ".gdt");
    }
    void import() {
        const std::vector<std::filesystem::path> folders{m_spool.path()};
        importer::ImportOptions options;
        options.force = true;
        const auto summary = importer::importSpools(folders, out(), options);
        ASSERT_TRUE(summary.has_value()) << summary.error().message;
    }
    std::string one(const std::string& sql) {
        auto trace = store::Trace::open(out());
        EXPECT_TRUE(trace.has_value());
        const auto value = trace->db().queryText("SELECT CAST((" + sql + ") AS TEXT)");
        EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().message);
        return value ? value->value_or("NULL") : std::string();
    }

    test::SpoolBuilder m_spool;
};

// Waits (in a child) for the collector's threads, at least a minute before the child ends with status 9.
template <class Condition> void eventually(Condition condition) {
    for (int i = 0; !condition(); ++i) {
        if (i == 12'000)
            _exit(9);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void call(std::uint32_t api, std::int32_t result, std::uint64_t correlation) {
    gd_rt_api info{};
    info.size = sizeof info;
    info.api = api;
    info.correlation = correlation;
    info.stream = 7;
    sink::apiEnter(info);
    sink::apiExit(info, result);
}

// What another thread changes.
template <class T> T at(const T& word) {
    return std::atomic_ref(const_cast<T&>(word)).load();
}

TEST_F(CollectorSpool, AClosedProcess) {
    ASSERT_EQ(m_spool.run([] {
        for (std::uint64_t i = 1; i <= 100; ++i)
            call(GD_API_EVENT_QUERY, 0, i);
        call(GD_API_MEM_ALLOC, 900, 101);
        gd_rt_memory memory{};
        memory.size = sizeof memory;
        memory.kind = GD_RT_MEMORY_DEVICE;
        memory.ptr = 0x7000;
        memory.bytes = 64;
        sink::alloc(memory);
        sink::free(memory);
        sink::fact("framework", "test");
    }),
        0);
    import();
    EXPECT_EQ(one("SELECT count(*) FROM api_call WHERE end_ns IS NOT NULL"), "101");
    EXPECT_EQ(one("SELECT result FROM api_call WHERE correlation = 101"), "900");
    EXPECT_EQ(one("SELECT count(*) FROM allocation WHERE free_ns >= alloc_ns"), "1");
    EXPECT_EQ(one("SELECT value FROM process_fact WHERE key = 'framework'"), "test");
    EXPECT_EQ(one("SELECT count(*) FROM trace_issue WHERE code IN ('missing_records', 'damaged_chunk', "
                  "'damaged_record', "
                  "'unknown_records', 'ring_missing')"),
        "0");
    EXPECT_EQ(one("SELECT start_ns <= 0 AND end_ns > 0 FROM process"), "1");
}

TEST_F(CollectorSpool, ACallThatNeverReturned) {
    m_spool.run(
        [] {
            call(GD_API_EVENT_QUERY, 0, 1);
            gd_rt_api info{};
            info.size = sizeof info;
            info.api = GD_API_DEVICE_SYNCHRONIZE;
            info.correlation = 2;
            sink::apiEnter(info);
        },
        test::SpoolBuilder::Ending::Kill);
    import();
    EXPECT_EQ(one("SELECT a.name FROM api_call JOIN api AS a USING (api_id) WHERE end_ns IS NULL"),
        "cuCtxSynchronize");
    EXPECT_EQ(one("SELECT ended FROM process"), "unknown");
}

// The oldest events go, the history stays: what the trace holds is complete from the time that it names.
TEST_F(CollectorSpool, KeepsTheLatestEventsAndSaysSinceWhen) {
    constexpr std::uint64_t kCalls = 60'000;
    m_spool.setVariable("GRAPHDOCTOR_LIMITS", "size=100000000,keep=600000");
    m_spool.setVariable("GRAPHDOCTOR_RING_BYTES", "67108864");
    ASSERT_EQ(m_spool.run([] {
        gd_rt_memory memory{};
        memory.size = sizeof memory;
        memory.kind = GD_RT_MEMORY_DEVICE;
        memory.bytes = 64;
        for (std::uint64_t i = 1; i <= kCalls; ++i) {
            call(GD_API_EVENT_RECORD, 0, i);
            memory.ptr = i * 64;
            if (i % 1000 == 0)
                sink::alloc(memory);
            // No faster than the drainer writes.
            if (i % 4000 == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        // With the second removal the first has been said.
        eventually([] { return session::currentSession()->events.removed() > 1; });
    }),
        0);
    import();
    const std::int64_t kept = std::stoll(one("SELECT count(*) FROM api_call"));
    EXPECT_LT(kept, static_cast<std::int64_t>(kCalls));
    EXPECT_GT(kept, 600'000 / 64 / 2);
    const std::string since = one("SELECT value FROM process_fact WHERE key = 'events_from_ns'");
    // Without a gap from that time on; some of those before may be there as well.
    EXPECT_EQ(one("SELECT max(correlation) FROM api_call"), std::to_string(kCalls));
    EXPECT_EQ(one("SELECT max(correlation) - min(correlation) + 1 = count(*) FROM api_call WHERE start_ns > "
                  + since),
        "1");
    EXPECT_EQ(one("SELECT count(*) > 5000 FROM api_call WHERE start_ns > " + since), "1");
    EXPECT_EQ(
        one("SELECT group_concat(state) FROM (SELECT state FROM coverage WHERE source = 'callbacks' AND "
            "from_ns < "
            + since + ")"),
        "absent")
        << "no source of these tests says that it looks";
    EXPECT_EQ(one("SELECT count(*) FROM allocation"), std::to_string(kCalls / 1000));
    EXPECT_EQ(one("SELECT severity FROM trace_issue WHERE code = 'older_events_dropped'"), "info");
    EXPECT_EQ(one("SELECT count(*) FROM trace_issue WHERE code IN ('missing_records', 'missing_events', "
                  "'dropped_records', 'unfinished_calls')"),
        "0");
}

TEST_F(CollectorSpool, TheHistoryHasItsOwnCap) {
    m_spool.setVariable("GRAPHDOCTOR_LIMITS", "size=4000000");
    m_spool.setVariable("GRAPHDOCTOR_RING_BYTES", "67108864");
    ASSERT_EQ(m_spool.run([] {
        gd_rt_graph graph{};
        graph.size = sizeof graph;
        // Four times what may be kept, and far less than the ring holds.
        for (graph.graph = 1; graph.graph * sizeof(raw::Graph) < 4'000'000; ++graph.graph) {
            sink::graph(GD_RT_CREATED, graph);
        }
        eventually([] {
            const raw::RingHeader& header = session::currentSession()->ring.header();
            return at(header.historyFull) != 0 && at(header.loss[0].droppedRecords) != 0;
        });
        call(GD_API_EVENT_RECORD, 0, 1);
    }),
        0);
    std::uintmax_t history = 0;
    for (const std::string& segment : m_spool.segments())
        history += std::filesystem::file_size(segment);
    EXPECT_LE(history, 1'000'000u + 3 * raw::kChunkBytes);
    import();
    EXPECT_EQ(one("SELECT severity FROM trace_issue WHERE code = 'history_limit_reached'"), "error");
    EXPECT_EQ(one("SELECT severity FROM trace_issue WHERE code = 'dropped_records'"), "error");
    EXPECT_EQ(one("SELECT count(*) FROM trace_issue WHERE code = 'missing_records'"), "0");
    EXPECT_EQ(one("SELECT count(*) > 0 FROM coverage WHERE source = 'memory' AND state = 'complete'"), "0");
    EXPECT_EQ(one("SELECT count(*) FROM api_call"), "1") << "events go on";
}

// How many calls each thread had recorded when the process was killed, in memory that outlives it.
struct Acknowledged {
    std::atomic<std::uint64_t> calls[4];
};

TEST_F(CollectorSpool, EveryAcknowledgedRecordSurvivesSigkill) {
    auto* done = static_cast<Acknowledged*>(
        ::mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(done), MAP_FAILED);
    std::mt19937 random(1);
    for (int round = 0; round < 8; ++round) {
        for (auto& calls : done->calls)
            calls.store(0);
        test::SpoolBuilder spool;
        const int pid = spool.start([done] {
            std::vector<std::thread> threads;
            for (std::size_t t = 0; t < 4; ++t) {
                threads.emplace_back([done, t] {
                    for (std::uint64_t i = 1; i < 100'000; ++i) {
                        call(GD_API_EVENT_RECORD, 0, i * 4 + t);
                        done->calls[t].store(i);
                    }
                });
            }
            for (std::thread& thread : threads)
                thread.join();
        });
        const std::uint64_t target = 1000 + random() % 30'000;
        while (done->calls[round % 4].load() < target && ::waitpid(pid, nullptr, WNOHANG) == 0)
            std::this_thread::yield();
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        const std::vector<std::filesystem::path> folders{spool.path()};
        importer::ImportOptions options;
        options.force = true;
        const auto summary = importer::importSpools(folders, out(), options);
        ASSERT_TRUE(summary.has_value()) << summary.error().message;
        const std::int64_t dropped
            = std::stoll(one("SELECT ifnull(sum(count), 0) FROM trace_issue WHERE code = 'dropped_records'"));
        std::int64_t acknowledged = 0;
        for (const auto& calls : done->calls)
            acknowledged += static_cast<std::int64_t>(calls.load());
        EXPECT_GE(std::stoll(one("SELECT count(*) FROM api_call")) + dropped, acknowledged);
        EXPECT_EQ(one("SELECT ifnull(sum(count), 0) FROM trace_issue WHERE code = 'missing_records'"), "0");
        EXPECT_EQ(one("SELECT count(*) - count(DISTINCT correlation) FROM api_call"), "0");
    }
    ::munmap(done, sizeof(Acknowledged));
}

} // namespace
} // namespace gd
