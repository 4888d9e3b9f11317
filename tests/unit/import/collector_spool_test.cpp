// SPDX-License-Identifier: Apache-2.0
// Spools of the real collector: what processes reported is what the trace holds, also after SIGKILL.
#include "analyzer/import/importer.h"
#include "analyzer/store/trace.h"

#include "collector/session/sink.h"
#include "tests/support/spool_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

void call(std::uint32_t api, std::int32_t result, std::uint64_t correlation) {
    gd_rt_api info{};
    info.size = sizeof info;
    info.api = api;
    info.correlation = correlation;
    info.stream = 7;
    sink::apiEnter(info);
    sink::apiExit(info, result);
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
