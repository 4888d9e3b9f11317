// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/trace.h"

#include "tests/support/other_user.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace gd::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TraceFile : public testing::Test {
protected:
    // Another user reads and writes here too.
    TraceFile() { fs::permissions(folder(), fs::perms::all); }
    fs::path path() const { return folder() / "a.gdt"; }
    const fs::path& folder() const { return m_folder.path(); }

    void write() {
        auto trace = NewTrace::create(path(), false);
        ASSERT_TRUE(trace.has_value()) << trace.error().message;
        ASSERT_TRUE(
            trace->db().exec("INSERT INTO meta VALUES ('format', 'graphdoctor.trace/1')").has_value());
        const auto finished = trace->finish();
        ASSERT_TRUE(finished.has_value()) << finished.error().message;
    }
    std::string refusal() const {
        const auto trace = Trace::open(path());
        return trace ? "opened" : trace.error().message;
    }
    std::size_t filesInFolder() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
    }
    void execRaw(const std::string& sql) {
        auto db = Db::openReadWrite(path().string());
        ASSERT_TRUE(db.has_value());
        const auto done = db->exec(sql);
        ASSERT_TRUE(done.has_value()) << done.error().message;
    }

private:
    test::TemporaryFolder m_folder;
};

TEST_F(TraceFile, IsWrittenUnderATemporaryNameAndOpens) {
    {
        auto trace = NewTrace::create(path(), false);
        ASSERT_TRUE(trace.has_value());
        EXPECT_FALSE(fs::exists(path()));
        ASSERT_TRUE(trace->finish().has_value());
    }
    EXPECT_EQ(filesInFolder(), 1u);
    EXPECT_EQ(refusal(), "opened");
}

TEST_F(TraceFile, LeavesNothingBehindWhenNotFinished) {
    {
        auto trace = NewTrace::create(path(), false);
        ASSERT_TRUE(trace.has_value());
    }
    EXPECT_EQ(filesInFolder(), 0u);
}

TEST_F(TraceFile, ReplacesAnExistingFileOnlyWhenAsked) {
    write();
    const auto refused = NewTrace::create(path(), false);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("exists already"));
    EXPECT_EQ(base::exitStatus(refused.error().code), 3);
    auto replaced = NewTrace::create(path(), true);
    ASSERT_TRUE(replaced.has_value());
    EXPECT_TRUE(replaced->finish().has_value());
    EXPECT_EQ(refusal(), "opened");
}

TEST_F(TraceFile, DoesNotReplaceAFileThatAppearedMeanwhile) {
    auto trace = NewTrace::create(path(), false);
    ASSERT_TRUE(trace.has_value());
    std::ofstream(path()) << "mine";
    EXPECT_FALSE(trace->finish().has_value());
    std::string kept;
    std::ifstream(path()) >> kept;
    EXPECT_EQ(kept, "mine");
}

TEST_F(TraceFile, HasOurMarksAndPageSize) {
    write();
    auto db = Db::openReadOnly(path().string());
    ASSERT_TRUE(db.has_value());
    EXPECT_EQ(db->queryInt64("PRAGMA application_id").value(), kApplicationId);
    EXPECT_EQ(db->queryInt64("PRAGMA user_version").value(), 2);
    EXPECT_EQ(db->queryInt64("PRAGMA page_size").value(), 16384);
}

TEST_F(TraceFile, RefusesWhatIsNoTrace) {
    EXPECT_THAT(refusal(), HasSubstr("No such file"));
    fs::create_directory(path());
    EXPECT_THAT(refusal(), HasSubstr("is a directory"));
    fs::remove(path());
    std::ofstream(path()).flush();
    EXPECT_THAT(refusal(), HasSubstr("is empty"));
    std::ofstream(path()) << "words";
    EXPECT_THAT(refusal(), HasSubstr("not a GraphDoctor trace: byte 0"));
}

TEST_F(TraceFile, NamesTheToolWhoseTraceItIs) {
    std::ofstream(path()) << "\n {\"traceEvents\": []}";
    EXPECT_THAT(refusal(), HasSubstr("not a GraphDoctor trace but JSON (PyTorch's"));
    std::ofstream(path()) << "\x1f\x8b\x08" << std::string(200, '.');
    EXPECT_THAT(refusal(), HasSubstr("not a GraphDoctor trace but a file packed by gzip"));
    fs::remove(path());
    auto db = Db::create(path().string());
    ASSERT_TRUE(db.has_value());
    ASSERT_TRUE(db->exec("CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER)").has_value());
    ASSERT_TRUE(db->close().has_value());
    EXPECT_THAT(refusal(), HasSubstr("an export of Nsight Systems; other tools' traces cannot be opened"));
}

TEST_F(TraceFile, RefusesAForeignDatabase) {
    auto db = Db::create(path().string());
    ASSERT_TRUE(db.has_value());
    ASSERT_TRUE(db->exec("CREATE TABLE bookmarks(url TEXT)").has_value());
    ASSERT_TRUE(db->close().has_value());
    EXPECT_THAT(refusal(), HasSubstr("an SQLite database but not a GraphDoctor trace"));
}

TEST_F(TraceFile, RefusesANewerSchemaWithBothNumbers) {
    write();
    execRaw("PRAGMA user_version = 7");
    EXPECT_THAT(refusal(), HasSubstr("its schema has version 7, this one reads up to 2"));
}

TEST_F(TraceFile, TablesThatAnOlderTraceLacksAreThereAndEmpty) {
    write();
    execRaw("DROP TABLE eager_launch; DROP TABLE launch_scalar; PRAGMA user_version = 1");
    auto trace = Trace::open(path());
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    EXPECT_EQ(trace->db().queryInt64("SELECT count(*) FROM eager_launch").value(), 0);
    EXPECT_EQ(trace->db().queryInt64("SELECT count(*) FROM launch_scalar").value(), 0);
    EXPECT_EQ(trace->db().queryInt64("PRAGMA user_version").value(), 1); // the file stays as it is
}

TEST_F(TraceFile, RefusesATraceWithoutItsTables) {
    write();
    execRaw("DROP TABLE process");
    EXPECT_THAT(refusal(), HasSubstr("expected the tables meta and process"));
}

TEST_F(TraceFile, TruncatedAtAnyStepIsRefusedInOneSentence) {
    write();
    const auto whole = fs::file_size(path());
    for (std::uintmax_t size = whole - whole % 512; size > 0; size -= 512) {
        if (size == whole)
            continue;
        fs::resize_file(path(), size);
        EXPECT_THAT(refusal(), testing::AnyOf(HasSubstr("cut off"), HasSubstr("damaged"))) << size;
    }
}

TEST_F(TraceFile, FlippedBitsNeverCrash) {
    write();
    std::ifstream in(path(), std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(in)), {});
    for (std::size_t i = 0; i < 400; ++i) {
        std::string bad = good;
        // The first page holds the header and the schema; the rest is spread evenly.
        const std::size_t at = i < 100 ? i : (i * 7919) % bad.size();
        bad[at] = static_cast<char>(bad[at] ^ (1 << (i % 8)));
        std::ofstream(path(), std::ios::binary | std::ios::trunc) << bad;
        auto trace = Trace::open(path());
        if (trace)
            static_cast<void>(trace->db().queryInt64("SELECT count(*) FROM meta"));
        else
            EXPECT_FALSE(trace.error().message.empty());
    }
}

TEST_F(TraceFile, WithoutPermissionSaysSo) {
    write();
    fs::permissions(path(), fs::perms::none);
    EXPECT_THAT(test::asOtherUser([this] { return refusal(); }), HasSubstr("Permission denied"));
}

TEST_F(TraceFile, OpensInAFolderThatCannotBeWritten) {
    write();
    fs::permissions(path(), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    fs::permissions(folder(),
        fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    EXPECT_EQ(test::asOtherUser([this] { return refusal(); }), "opened");
    EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(TraceFile, CannotBeCreatedInAFolderThatCannotBeWritten) {
    fs::permissions(folder(),
        fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    const std::string message = test::asOtherUser([this] {
        const auto trace = NewTrace::create(path(), false);
        return trace ? "created" : trace.error().message;
    });
    EXPECT_THAT(message, HasSubstr("cannot create " + path().string() + ": Permission denied"));
}

FactsBuilder factsOfVersion(std::int64_t version, int* calls = nullptr) {
    return {version, [calls](Db& db) {
                if (calls != nullptr)
                    ++*calls;
                return db.exec("INSERT INTO steady_state VALUES (1, 0, 10, 5, 0, 2)");
            }};
}

TEST_F(TraceFile, FreshFactsAreUsedAsTheyAre) {
    auto trace = NewTrace::create(path(), false);
    ASSERT_TRUE(trace.has_value());
    const auto built = trace->buildFacts(factsOfVersion(3));
    ASSERT_TRUE(built.has_value()) << built.error().message;
    ASSERT_TRUE(trace->finish().has_value());
    int calls = 0;
    auto opened = Trace::open(path(), factsOfVersion(3, &calls));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ(calls, 0);
    EXPECT_FALSE(opened->rebuiltFacts());
    EXPECT_EQ(opened->db().queryInt64("SELECT steps FROM steady_state").value(), 5);
}

TEST_F(TraceFile, StaleFactsAreShadowedWithoutWritingTheFile) {
    auto trace = NewTrace::create(path(), false);
    ASSERT_TRUE(trace.has_value());
    ASSERT_TRUE(
        trace
            ->buildFacts(
                {2, [](Db& db) { return db.exec("INSERT INTO steady_state VALUES (1, 0, 10, 99, 0, 2)"); }})
            .has_value());
    ASSERT_TRUE(trace->finish().has_value());
    const auto before = fs::last_write_time(path());
    auto opened = Trace::open(path(), factsOfVersion(3));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_TRUE(opened->rebuiltFacts());
    EXPECT_EQ(opened->db().queryInt64("SELECT steps FROM steady_state").value(), 5);
    EXPECT_EQ(opened->db().queryInt64("SELECT steps FROM main.steady_state").value(), 99);
    EXPECT_EQ(fs::last_write_time(path()), before);
    ASSERT_TRUE(opened->db().harden().has_value());
    EXPECT_EQ(opened->db().queryInt64("SELECT steps FROM steady_state").value(), 5);
}

TEST_F(TraceFile, MissingFactsAreBuilt) {
    write();
    auto opened = Trace::open(path(), factsOfVersion(3));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ(opened->db().queryInt64("SELECT count(*) FROM steady_state").value(), 1);
    EXPECT_EQ(opened->db().queryInt64("SELECT count(*) FROM replay_gap").value(), 0);
}

} // namespace
} // namespace gd::store
