// SPDX-License-Identifier: Apache-2.0
#include "cli/run/spool_folder.h"

#include "collector/raw/ring_header.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/run/variables.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <fstream>
#include <optional>

using namespace gd::run;
using gd::test::TemporaryFolder;
using gd::test::Variables;
namespace fs = std::filesystem;

namespace {

struct Place {
    TemporaryFolder folder;
    Variables variables{{{"GRAPHDOCTOR_SPOOL_DIR", folder.path().string()},
        {"XDG_RUNTIME_DIR", (folder.path() / "run").string()}}};
    fs::path user = userFolder(variables);

    SpoolFolder join(const std::string& key) { return SpoolFolder::join(user, key, "out.gdt").value(); }
    // The spool of a run that has ended without importing it, or was killed meanwhile.
    fs::path ended(const std::string& key) {
        SpoolFolder spool = join(key);
        EXPECT_TRUE(spool.leave().value());
        return spool.path();
    }
    std::vector<Leftover> sweep(const fs::path& own = {}) {
        return sweepLeftovers(user, own, "here", variables);
    }
};

// A pid that belongs to nobody: of a process that has ended.
pid_t deadPid() {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
}

void addSegment(const fs::path& spool, pid_t pid, const std::string& host = "here") {
    std::ofstream(spool / fmt::format("{}.{}.123.00112233aabbccdd.seg", host, pid)) << "x";
}

TEST(SpoolFolder, LiesInAPrivateFolderOfTheUser) {
    Place place;
    const SpoolFolder spool = place.join("job");
    EXPECT_EQ(spool.path(), place.folder.path() / fmt::format("graphdoctor-{}", geteuid()) / "job");
    EXPECT_EQ(fs::status(spool.path()).permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::status(place.user).permissions(), fs::perms::owner_all);
}

TEST(SpoolFolder, RefusesAFolderThatOthersMayEnter) {
    Place place;
    fs::create_directory(place.user);
    fs::permissions(place.user, fs::perms::owner_all | fs::perms::others_read);
    const auto spool = SpoolFolder::join(place.user, "job", "x");
    ASSERT_FALSE(spool);
    EXPECT_THAT(spool.error().message, testing::HasSubstr("open to other users"));
}

TEST(SpoolFolder, RefusesALink) {
    Place place;
    fs::create_directory(place.folder.path() / "elsewhere");
    fs::create_directory_symlink(place.folder.path() / "elsewhere", place.user);
    EXPECT_FALSE(SpoolFolder::join(place.user, "job", "x"));
}

TEST(SpoolFolder, RefusesAFolderOfSomebodyElse) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can give a folder away";
    Place place;
    fs::create_directory(place.user);
    ASSERT_EQ(chown(place.user.c_str(), 12345, 12345), 0);
    const auto spool = SpoolFolder::join(place.user, "job", "x");
    ASSERT_FALSE(spool);
    EXPECT_THAT(spool.error().message, testing::HasSubstr("belongs to user 12345"));
}

TEST(SpoolFolder, SiblingsShareItAndTheLastOneImports) {
    Place place;
    SpoolFolder first = place.join("job");
    SpoolFolder second = place.join("job");
    EXPECT_TRUE(first.isFirst());
    EXPECT_FALSE(second.isFirst());
    EXPECT_EQ(first.path(), second.path());
    EXPECT_EQ(second.joined(), 2);
    first.noteEnd(100, 0);
    EXPECT_FALSE(first.leave().value());
    second.noteEnd(101, 137);
    EXPECT_TRUE(second.leave().value());
    EXPECT_THAT(second.ends(),
        testing::ElementsAre(std::pair<std::int64_t, int>(100, 0), std::pair<std::int64_t, int>(101, 137)));
}

TEST(SpoolFolder, NobodyJoinsAfterTheLastHasLeft) {
    Place place;
    SpoolFolder first = place.join("job");
    ASSERT_TRUE(first.leave().value());
    const SpoolFolder late = place.join("job");
    EXPECT_TRUE(late.isFirst());
    EXPECT_NE(late.path(), first.path());
}

TEST(SpoolFolder, ADeadSiblingDoesNotKeepOthersWaiting) {
    Place place;
    SpoolFolder first = place.join("job");
    const pid_t sibling = fork();
    if (sibling == 0) {
        const auto spool = SpoolFolder::join(place.user, "job", "x");
        kill(getpid(), SIGKILL);
        _exit(spool ? 0 : 1);
    }
    waitpid(sibling, nullptr, 0);
    EXPECT_EQ(first.joined(), 2);
    EXPECT_TRUE(first.leave().value());
}

TEST(Leftovers, AreSpoolsWhoseRunAndProcessesAreGone) {
    Place place;
    const SpoolFolder own = place.join("own");
    std::optional<SpoolFolder> other = place.join("other");
    const fs::path spool = other->path();
    addSegment(spool, deadPid());
    EXPECT_THAT(place.sweep(own.path()), testing::IsEmpty()); // its run is alive
    ASSERT_TRUE(other->leave().value());
    EXPECT_THAT(place.sweep(own.path()), testing::IsEmpty()); // and imports
    other.reset();
    const auto found = place.sweep(own.path());
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].spool, spool);
    EXPECT_EQ(found[0].output, "out.gdt");
    EXPECT_TRUE(fs::exists(spool));
}

TEST(Leftovers, ASpoolThatIsBeingImportedIsNotRemovedThoughItIsEmpty) {
    Place place;
    std::optional<SpoolFolder> importing = place.join("importing");
    const fs::path spool = importing->path();
    ASSERT_TRUE(importing->leave().value());
    EXPECT_THAT(place.sweep(), testing::IsEmpty());
    EXPECT_TRUE(fs::exists(spool));
    importing.reset();
    EXPECT_THAT(place.sweep(), testing::IsEmpty());
    EXPECT_FALSE(fs::exists(spool));
}

TEST(Leftovers, AreNotTouchedWhileAProcessRecords) {
    Place place;
    const fs::path other = place.ended("other");
    addSegment(other, getpid());
    EXPECT_THAT(livingProcesses(other, "here"), testing::ElementsAre(getpid()));
    EXPECT_THAT(place.sweep(), testing::IsEmpty());
    EXPECT_TRUE(fs::exists(other));
}

TEST(Leftovers, ImportedSpoolsGoWithTheirRings) {
    Place place;
    const fs::path done = place.ended("done");
    addSegment(done, deadPid());
    const std::string stem = segmentsIn(done).at(0).stem;
    const fs::path rings = place.folder.path() / "run" / fmt::format("graphdoctor-{}", geteuid());
    fs::create_directories(rings);
    std::ofstream(rings / (stem + ".ring")) << "x";
    std::ofstream(rings / "other.1.2.3.ring") << "x";
    markImported(done);
    EXPECT_THAT(place.sweep(), testing::IsEmpty());
    EXPECT_FALSE(fs::exists(done));
    EXPECT_FALSE(fs::exists(rings / (stem + ".ring")));
    EXPECT_TRUE(fs::exists(rings / "other.1.2.3.ring"));
}

TEST(Leftovers, RingsWithoutProcessAndSegmentGiveTheirMemoryBack) {
    Place place;
    const fs::path rings = place.folder.path() / "run" / fmt::format("graphdoctor-{}", geteuid());
    fs::create_directories(rings);
    const auto addRing = [&](const std::string& host, pid_t pid, const fs::path& segment) {
        gd::raw::RingHeader header = {};
        header.magic = gd::raw::kRingMagic;
        segment.string().copy(header.segmentPath, sizeof header.segmentPath - 1);
        const fs::path file = rings / fmt::format("{}.{}.5.00112233aabbccdd.ring", host, pid);
        std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(&header), sizeof header);
        return file;
    };
    const fs::path gone = place.folder.path() / "gone.seg";
    const fs::path there = place.folder.path() / "there.seg";
    std::ofstream(there) << "x";
    const fs::path orphan = addRing("here", deadPid(), gone);
    const fs::path living = addRing("here", getpid(), gone);
    const fs::path elsewhere = addRing("there", deadPid(), gone);
    const fs::path wanted = addRing("here", deadPid(), there);
    const fs::path held = addRing("here", deadPid(), gone);
    const int lock = open(held.c_str(), O_RDONLY | O_CLOEXEC); // a process of another pid namespace
    ASSERT_EQ(flock(lock, LOCK_SH), 0);
    sweepRings("here", place.variables);
    EXPECT_FALSE(fs::exists(orphan));
    for (const fs::path& file : {living, elsewhere, wanted, held})
        EXPECT_TRUE(fs::exists(file)) << file;
    close(lock);
}

TEST(Leftovers, AFolderThatWaitsForItsProcessesStays) {
    Place place;
    { const SpoolFolder any = place.join("any"); }
    fs::create_directory(place.user / "printed");
    EXPECT_THAT(place.sweep(), testing::IsEmpty());
    EXPECT_TRUE(fs::exists(place.user / "printed"));
    EXPECT_FALSE(fs::exists(place.user / "any")); // had a run and recorded nothing
}

TEST(Segments, HostNamesMayHoldDots) {
    Place place;
    SpoolFolder spool = place.join("job");
    addSegment(spool.path(), 77, "node1.example.org");
    std::ofstream(spool.path() / "rubbish.seg") << "";
    const auto segments = segmentsIn(spool.path());
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments[0].host, "node1.example.org");
    EXPECT_EQ(segments[0].pid, 77);
}

} // namespace
