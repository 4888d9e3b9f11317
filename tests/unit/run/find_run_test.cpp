// SPDX-License-Identifier: Apache-2.0
#include "cli/run/find_run.h"

#include "cli/run/control.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace gd::run;
using gd::test::TemporaryFolder;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

struct RunPlace {
    TemporaryFolder folder;
    fs::path user = folder.path() / "user";

    SpoolFolder run(const std::string& key, const std::string& output) {
        SpoolFolder spool = SpoolFolder::join(user, key, output).value();
        EXPECT_TRUE(Control::create(spool.path(), {}));
        return spool;
    }
    gd::Result<FoundRun> find(const std::string& word) { return findRun(user, word, "here"); }
};

TEST(FindRun, KnowsAJobByItsTraceItsPidAndItsFolder) {
    RunPlace place;
    const std::string output = fs::absolute("job.gdt").string();
    const SpoolFolder spool = place.run("key", output);
    const SpoolFolder other = place.run("other", "/elsewhere/other.gdt");
    for (const std::string& word : {std::string("job.gdt"), std::string("./job.gdt"), output,
             std::string("key"), spool.path().string()}) {
        const auto found = place.find(word);
        ASSERT_TRUE(found) << word << ": " << found.error().message;
        EXPECT_EQ(found->spool, spool.path()) << word;
    }
    std::ofstream(spool.path() / fmt::format("here.{}.123.00112233aabbccdd.seg", getppid())) << "x";
    const auto byProcess = place.find(std::to_string(getppid()));
    ASSERT_TRUE(byProcess) << byProcess.error().message;
    EXPECT_EQ(byProcess->spool, spool.path());
}

TEST(FindRun, AWordThatIsSeveralJobsIsRefused) {
    RunPlace place;
    const SpoolFolder one = place.run("one", "/a.gdt");
    const SpoolFolder two = place.run("two", "/b.gdt");
    const auto found = place.find(std::to_string(getpid()));
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("2 running jobs"));
}

TEST(FindRun, AWordThatIsNoJobNamesThoseThereAre) {
    RunPlace place;
    EXPECT_THAT(place.find("job.gdt").error().message, HasSubstr("no job of this user"));
    const SpoolFolder spool = place.run("one", "/a.gdt");
    const auto found = place.find("job.gdt");
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr(fmt::format("there is /a.gdt (pid {})", getpid())));
    EXPECT_EQ(gd::base::exitStatus(found.error().code), 3);
}

TEST(FindRun, RefusesAJobThatHasEndedAndAFolderThatIsNone) {
    RunPlace place;
    fs::path ended;
    {
        SpoolFolder spool = place.run("key", "/a.gdt");
        ended = spool.path();
        ASSERT_TRUE(spool.leave());
        EXPECT_THAT(place.find(ended.string()).error().message, HasSubstr("has ended")); // it is imported
    }
    EXPECT_THAT(place.find(ended.string()).error().message, HasSubstr("has ended"));
    const fs::path plain = place.folder.path() / "plain";
    fs::create_directory(plain);
    fs::permissions(plain, fs::perms::owner_all);
    EXPECT_THAT(place.find(plain.string()).error().message, HasSubstr("no control page"));
    fs::permissions(plain, fs::perms::owner_all | fs::perms::others_read);
    EXPECT_THAT(place.find(plain.string()).error().message, HasSubstr("open to other users"));
}

} // namespace
