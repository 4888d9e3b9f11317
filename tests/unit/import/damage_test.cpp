// SPDX-License-Identifier: Apache-2.0
// Damaged, cut, doubled and foreign spools: nothing crashes, everything undamaged is kept, all else is said.
#include "tests/unit/import/import_fixture.h"

#include "collector/api/graphdoctor_runtime.h"
#include "tests/support/other_user.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include <iterator>
#include <random>

namespace gd {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kProcessStart = 1'000'000'000;

std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
}

void setContent(const fs::path& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

raw::ApiCall callAt(std::int64_t ns) {
    raw::ApiCall call{};
    call.startNs = kProcessStart + ns;
    call.endNs = kProcessStart + ns + 1;
    call.api = GD_API_EVENT_QUERY;
    call.correlation = static_cast<std::uint64_t>(ns);
    return call;
}

class Damage : public test::ImportFixture {
protected:
    // A process with `calls` calls on thread 1, in small chunks.
    std::unique_ptr<test::SpoolWriter> process(int calls, std::uint32_t chunkBytes = 4096) {
        auto spool_ = std::make_unique<test::SpoolWriter>(spool());
        spool_->setChunkBytes(chunkBytes);
        spool_->start();
        raw::Thread thread{};
        thread.timeNs = kProcessStart;
        thread.thread = 1;
        thread.tid = 11;
        spool_->history(thread);
        spool_->fact("runtime", "host");
        for (int i = 0; i < calls; ++i)
            spool_->event(1, callAt(10 * i + 10));
        return spool_;
    }
    std::int64_t calls() { return std::stoll(one("SELECT count(*) FROM api_call")); }
    std::int64_t issueCount(const std::string& code) {
        return std::stoll(one("SELECT ifnull(sum(count), 0) FROM trace_issue WHERE code = '" + code + "'"));
    }
};

TEST_F(Damage, RingAndSegmentTogetherGiveEveryRecordOnce) {
    auto p = process(500);
    p->writeSegmentAndRing(3, 2);
    import();
    EXPECT_EQ(calls(), 500);
    EXPECT_EQ(one("SELECT count(DISTINCT correlation) FROM api_call"), "500");
    EXPECT_EQ(issueCount("missing_records"), 0);
    EXPECT_EQ(one("SELECT ended FROM process"), "unknown");
}

TEST_F(Damage, RingAloneIsEnough) {
    auto p = process(50);
    p->writeSegmentAndRing(p->chunks().size(), 0);
    import();
    EXPECT_EQ(calls(), 50);
    EXPECT_EQ(one("SELECT start_ns FROM process"), "0");
}

TEST_F(Damage, MissingRingOfAnUnfinishedProcessIsSaid) {
    process(50)->writeSegment();
    import();
    EXPECT_EQ(calls(), 50);
    EXPECT_EQ(issueCount("ring_missing"), 1);
}

TEST_F(Damage, RingOfAnotherProcessIsNotMixedIn) {
    auto other = std::make_unique<test::SpoolWriter>(spool(), 4711, "node7", kProcessStart, 0xfeed);
    other->start();
    other->event(1, callAt(7));
    other->writeSegmentAndRing(1, 0);
    auto p = process(50);
    p->writeSegment();
    fs::copy_file(other->ringPath(), p->ringPath());
    fs::remove(other->segmentPath());
    import();
    EXPECT_EQ(calls(), 50);
    EXPECT_EQ(issueCount("unreadable_ring"), 1);
}

TEST_F(Damage, AHoleInTheHistoryIsStepptedOverWhateverItsLength) {
    for (const bool lengthIsKnown : {true, false}) {
        auto p = process(5);
        p->fact("framework", "before");
        p->fact("framework", "interrupted");
        p->fact("framework_version", "after");
        // The last but one ProcessFact was being written when the process was killed.
        test::SpoolWriter::Chunk& chunk = p->chunks().front();
        std::vector<std::size_t> factsAt;
        for (std::size_t at = 0; at < chunk.payload.size();) {
            raw::RecordHeader header;
            std::memcpy(&header, chunk.payload.data() + at, sizeof header);
            if (header.kind == static_cast<std::uint16_t>(raw::RecordKind::ProcessFact))
                factsAt.push_back(at);
            at += std::size_t{header.size8} * 8;
        }
        const std::size_t hole = factsAt.at(factsAt.size() - 2);
        raw::RecordHeader header;
        std::memcpy(&header, chunk.payload.data() + hole, sizeof header);
        header.kind = lengthIsKnown ? static_cast<std::uint16_t>(raw::kReservedRecordBit | header.size8) : 0;
        header.sequence = lengthIsKnown ? header.sequence : 0;
        header.size8 = 0;
        std::memcpy(chunk.payload.data() + hole, &header, sizeof header);
        p->writeSegmentAndRing(p->chunks().size(), 0);
        import();
        EXPECT_THAT(
            rows("SELECT value FROM process_fact ORDER BY rowid"), testing::ElementsAre("before", "after"));
        EXPECT_EQ(issueCount("missing_records"), 0);
        EXPECT_EQ(calls(), 5);
    }
}

TEST_F(Damage, DroppedRecordsAreCountedAgainstTheLossCounters) {
    auto p = process(50);
    p->dropEvents(1, 30);
    p->event(1, callAt(10'000));
    p->writeSegmentAndRing(1, 0, {30, 30 * 64, 0, 0});
    import();
    EXPECT_EQ(calls(), 51);
    EXPECT_EQ(issueCount("dropped_records"), 30);
    EXPECT_EQ(issueCount("missing_records"), 0);
}

TEST_F(Damage, UnexplainedGapsAreCounted) {
    auto p = process(50);
    p->dropEvents(1, 30);
    p->event(1, callAt(10'000));
    p->writeSegmentAndRing(1, 0, {10, 640, 0, 0});
    import();
    EXPECT_EQ(issueCount("dropped_records"), 10);
    EXPECT_EQ(issueCount("missing_records"), 20);
}

TEST_F(Damage, LossMakesCoveragePartialOnlyWhereItHappened) {
    auto p = process(50);
    raw::Coverage coverage{};
    coverage.timeNs = kProcessStart;
    coverage.source = static_cast<std::uint32_t>(raw::CoverageSource::callbacks);
    coverage.state = 2;
    p->history(coverage);
    p->dropEvents(1, 30);
    p->event(1, callAt(10'000));
    p->end(kProcessStart + 20'000);
    p->writeSegmentAndRing(1, 0, {30, 30 * 64, 0, 0});
    import();
    EXPECT_THAT(
        rows("SELECT from_ns, to_ns, state FROM coverage WHERE source = 'callbacks' ORDER BY from_ns"),
        testing::ElementsAre("0|500|complete", "500|10000|partial", "10000|20000|complete"));
}

TEST_F(Damage, ADamagedChunkCostsOnlyItsOwnRecords) {
    auto p = process(500);
    p->writeSegment();
    std::string content = contentOf(p->segmentPath());
    // Somewhere in the middle of the third chunk of events.
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 0x10);
    setContent(p->segmentPath(), content);
    import();
    const std::int64_t inOneChunk = (4096 - 48) / 64;
    EXPECT_EQ(calls(), 500 - inOneChunk);
    EXPECT_EQ(issueCount("missing_records"), inOneChunk);
    EXPECT_THAT(one("SELECT detail FROM trace_issue WHERE code = 'damaged_chunk'"),
        testing::AllOf(HasSubstr(p->segmentPath().filename().string()), HasSubstr("bytes ")));
}

TEST_F(Damage, GarbageBetweenChunksIsSkipped) {
    auto p = process(500);
    p->writeSegment();
    const std::string content = contentOf(p->segmentPath());
    setContent(p->segmentPath(), std::string(4096, '\x5a') + content + std::string(100, '\0'));
    import();
    EXPECT_EQ(calls(), 500);
    EXPECT_EQ(issueCount("damaged_chunk"), 2);
}

TEST_F(Damage, EmptySegmentIsAProcessWithoutRecords) {
    process(5)->writeSegment();
    auto empty = std::make_unique<test::SpoolWriter>(spool(), 99, "node7", kProcessStart + 5, 0xe);
    setContent(empty->segmentPath(), "");
    import();
    EXPECT_EQ(calls(), 5);
    EXPECT_EQ(one("SELECT count(*) FROM process"), "2");
    EXPECT_EQ(issueCount("empty_segment"), 1);
}

TEST_F(Damage, TruncatedAtEveryStepKeepsAllBeforeTheCut) {
    auto p = process(200);
    p->writeSegment();
    const std::string content = contentOf(p->segmentPath());
    std::int64_t previous = 200;
    for (std::size_t size = content.size() / 512 * 512; size > 0; size -= 512) {
        setContent(p->segmentPath(), content.substr(0, size));
        const auto summary = tryImport();
        ASSERT_TRUE(summary.has_value()) << size << ": " << summary.error().message;
        const std::int64_t kept = calls();
        // 512 bytes are 8 calls, or fewer with a chunk's header between them.
        EXPECT_GE(kept, previous - 9) << size;
        EXPECT_LE(kept, previous) << size;
        previous = kept;
    }
}

// A process that ends while its last chunk is being written: the chunk is still in the ring.
TEST_F(Damage, AWriteThatTheEndCutOffIsNoLossWhereTheRingHoldsIt) {
    for (const std::size_t cut : {8u, 100u, 3000u}) {
        auto p = process(500);
        p->writeSegmentAndRing(3, 1);
        const std::string content = contentOf(p->segmentPath());
        setContent(p->segmentPath(), content.substr(0, content.size() - cut));
        import();
        EXPECT_EQ(calls(), 500) << cut;
        EXPECT_EQ(one("SELECT count(*) FROM trace_issue WHERE severity <> 'info'"), "0") << cut;
    }
    // Not even its header is whole.
    auto p = process(500);
    p->writeSegmentAndRing(3, 0);
    const auto& next = p->chunks()[p->chunks().size() - 3];
    setContent(p->segmentPath(),
        contentOf(p->segmentPath()) + std::string(reinterpret_cast<const char*>(&next.header), 24));
    import();
    EXPECT_EQ(calls(), 500);
    EXPECT_EQ(one("SELECT count(*) FROM trace_issue WHERE severity <> 'info'"), "0");
}

TEST_F(Damage, AFileThatLostItsEndIsALossWhateverElseTheRingHolds) {
    auto p = process(500);
    p->writeSegmentAndRing(2, 0);
    const std::string content = contentOf(p->segmentPath());
    setContent(p->segmentPath(), content.substr(0, content.size() - 100));
    import();
    EXPECT_LT(calls(), 500);
    EXPECT_EQ(issueCount("cut_off_segment"), 1);
    EXPECT_EQ(one("SELECT severity FROM trace_issue WHERE code = 'cut_off_segment'"), "data_loss");
    fs::remove(p->ringPath());
    import();
    EXPECT_EQ(issueCount("cut_off_segment"), 1);
}

TEST_F(Damage, RandomFlipsInSegmentAndRingNeverCrash) {
    std::mt19937 random(4711);
    auto p = process(120, 1024);
    const auto stack = p->stack({1, 2, 3}, {{p->string("a.py"), p->string("f"), 3, 0}});
    raw::Graph graph{};
    graph.graph = 1;
    graph.life = 1;
    graph.stack = stack;
    p->history(graph);
    for (std::uint64_t node = 1; node < 20; ++node) {
        raw::GraphNode record{};
        record.node = node;
        record.graph = 1;
        record.life = 1;
        p->history(record);
        raw::GraphEdge edge{};
        edge.graph = 1;
        edge.fromNode = node;
        edge.toNode = node + 1;
        p->history(edge);
    }
    p->writeSegmentAndRing(4, 2);
    const std::string segment = contentOf(p->segmentPath());
    const std::string ring = contentOf(p->ringPath());
    for (int round = 0; round < 150; ++round) {
        std::string badSegment = segment;
        std::string badRing = ring;
        for (int flips = 0; flips <= round % 4; ++flips) {
            char& inSegment = badSegment[random() % badSegment.size()];
            inSegment = static_cast<char>(inSegment ^ (1 << (random() % 8)));
            // Half of them where the ring's header, slots and first records are.
            const std::size_t range = round % 2 == 0 ? 22'000 : badRing.size();
            char& inRing = badRing[random() % range];
            inRing = static_cast<char>(inRing ^ (1 << (random() % 8)));
        }
        setContent(p->segmentPath(), badSegment);
        setContent(p->ringPath(), badRing);
        const auto summary = tryImport();
        ASSERT_TRUE(summary.has_value()) << round << ": " << summary.error().message;
        EXPECT_EQ(one("PRAGMA integrity_check"), "ok");
    }
}

TEST_F(Damage, RecordsWithWrongContentsNeverCrash) {
    // A chunk whose checksum is right and whose records are random: a hostile spool.
    std::mt19937 random(99);
    for (int round = 0; round < 60; ++round) {
        auto p = process(20);
        for (test::SpoolWriter::Chunk& chunk : p->chunks()) {
            for (std::size_t at = 0; at + 8 < chunk.payload.size();) {
                raw::RecordHeader header;
                std::memcpy(&header, chunk.payload.data() + at, sizeof header);
                const std::size_t bytes = std::size_t{header.size8} * 8;
                for (std::size_t i = 8; i < bytes; ++i) {
                    if (random() % 4 == 0)
                        chunk.payload[at + i] = static_cast<char>(random());
                }
                if (random() % 10 == 0) {
                    header.kind = static_cast<std::uint16_t>(random() % 100);
                    std::memcpy(chunk.payload.data() + at, &header, sizeof header);
                }
                at += bytes;
            }
        }
        p->writeSegment();
        const auto summary = tryImport();
        ASSERT_TRUE(summary.has_value()) << round << ": " << summary.error().message;
    }
}

TEST_F(Damage, ANewerFormatIsRefusedByName) {
    auto p = process(5);
    for (test::SpoolWriter::Chunk& chunk : p->chunks())
        chunk.header.version = 9;
    p->writeSegment();
    const auto summary = tryImport();
    ASSERT_FALSE(summary.has_value());
    EXPECT_THAT(summary.error().message, HasSubstr(p->segmentPath().string()));
    EXPECT_THAT(summary.error().message,
        HasSubstr("its format has version 9, this one reads up to " + std::to_string(raw::kRawVersion)));
    EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Damage, ANewerProcessDoesNotHideTheOthers) {
    process(5)->writeSegment();
    test::SpoolWriter newer(spool(), 99, "node7", kProcessStart + 5, 0xe);
    newer.start();
    newer.chunks().front().header.version = 9;
    newer.writeSegment();
    const auto summary = import();
    EXPECT_EQ(summary.failedProcesses, 1);
    EXPECT_EQ(calls(), 5);
    EXPECT_THAT(
        one("SELECT detail FROM trace_issue WHERE code = 'unreadable_segment'"), HasSubstr("version 9"));
}

TEST_F(Damage, ARenamedSegmentIsNotTakenForAnotherProcess) {
    auto p = process(5);
    p->writeSegment();
    fs::rename(p->segmentPath(), spool() / "node7.12.1000000000.00000000000000aa.seg");
    const auto summary = tryImport();
    ASSERT_FALSE(summary.has_value());
    EXPECT_THAT(summary.error().message, HasSubstr("holds records of process 4711"));
}

TEST_F(Damage, AFolderWithoutSegmentsIsRefusedUnlessTheCommandRan) {
    const auto refused = tryImport();
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("holds no segments"));
    importer::ImportOptions options;
    options.command.emplace();
    options.command->commandLine = "true";
    options.command->exitStatus = 0;
    EXPECT_FALSE(import(options).runtimeSeen);
    EXPECT_EQ(issueCount("no_runtime_seen"), 1);
    EXPECT_EQ(one("SELECT value FROM meta WHERE key = 'runtime_seen'"), "0");
    EXPECT_EQ(one("SELECT value FROM meta WHERE key = 'exit_status'"), "0");
}

TEST_F(Damage, AMissingFolderIsOneSentence) {
    fs::remove_all(spool());
    const auto refused = tryImport();
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("cannot read the spool folder"));
}

TEST_F(Damage, SegmentsWithoutPermissionAreNamed) {
    auto p = process(5);
    p->writeSegment();
    fs::permissions(p->segmentPath(), fs::perms::none);
    fs::permissions(spool().parent_path(), fs::perms::all);
    const std::string message = test::asOtherUser([this] {
        const auto summary = tryImport();
        return summary ? "imported" : summary.error().message;
    });
    EXPECT_EQ(message, "cannot open " + p->segmentPath().string() + ": Permission denied");
}

bool writeText(const char* path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

// Mounting needs a namespace; without privilege also a user namespace in which we are root.
bool enterNamespaces() {
    if (::unshare(CLONE_NEWNS) == 0)
        return true;
    const std::string uid = std::to_string(::getuid());
    const std::string gid = std::to_string(::getgid());
    return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && writeText("/proc/self/setgroups", "deny")
        && writeText("/proc/self/uid_map", "0 " + uid + " 1")
        && writeText("/proc/self/gid_map", "0 " + gid + " 1");
}

// Onto a tmpfs of that size.
std::string importOntoFullDisk(const fs::path& spool, const fs::path& mountPoint, const char* size) {
    if (!enterNamespaces())
        return "refused: unshare";
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0
        || ::mount("tmpfs", mountPoint.c_str(), "tmpfs", 0, size) != 0)
        return "refused: mount";
    const std::vector<fs::path> folders{spool};
    const auto summary = importer::importSpools(folders, mountPoint / "out.gdt", {});
    const auto left = std::distance(fs::directory_iterator(mountPoint), fs::directory_iterator());
    return (summary ? "imported" : summary.error().message) + ", files left: " + std::to_string(left);
}

TEST_F(Damage, AFullDiskIsOneSentenceAndLeavesNothing) {
    process(40'000, raw::kChunkBytes)->writeSegment();
    const fs::path mountPoint = spool().parent_path() / "small";
    fs::create_directory(mountPoint);
    // Full while the tables are created, and full among the rows.
    for (const char* size : {"size=256k", "size=1600k"}) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const std::string text = importOntoFullDisk(spool(), mountPoint, size);
            ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
        }
        ::close(ends[1]);
        char buffer[2000] = {};
        const ssize_t got = ::read(ends[0], buffer, sizeof buffer - 1);
        ::close(ends[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_GT(got, 0);
        if (std::string(buffer).starts_with("refused"))
            GTEST_SKIP() << "this system allows no file system of our own (" << buffer << ")";
        EXPECT_EQ(std::string(buffer),
            "cannot write " + (mountPoint / "out.gdt").string() + ": the disk is full, files left: 0");
    }
}

} // namespace
} // namespace gd
