// SPDX-License-Identifier: Apache-2.0
#include "cli/run/output_name.h"

#include "tests/support/temporary_folder.h"
#include "tests/unit/run/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace gd::run;
using gd::ErrorCode;
using gd::test::TemporaryFolder;
using gd::test::Variables;

namespace {

NameValues values() {
    return {"node1", 42, Variables{{{"RANK", "3"}, {"JOB", "x/y"}}}};
}

TEST(OutputName, ExpandsPlaceholders) {
    EXPECT_EQ(expandName("a-%h-%p-%r-%q{JOB}-100%%.gdt", values()).value(), "a-node1-42-3-x/y-100%.gdt");
    EXPECT_EQ(expandName("plain.gdt", values()).value(), "plain.gdt");
}

TEST(OutputName, RefusesWhatItCannotExpand) {
    for (const char* pattern : {"%x", "%", "%q", "%q{", "%q{UNSET}"}) {
        const auto name = expandName(pattern, values());
        ASSERT_FALSE(name) << pattern;
        EXPECT_EQ(name.error().code, ErrorCode::usage);
    }
    EXPECT_FALSE(expandName("%r", {"h", 1, Variables{}}));
}

TEST(OutputName, DefaultsToJobOrTimeAndHost) {
    EXPECT_EQ(defaultName(JobIdentity{"slurm-1.0", "1.0", "slurm", {}}, "n1", 0), "graphdoctor-1.0-n1.gdt");
    EXPECT_EQ(defaultName(std::nullopt, "n1", 86399), "graphdoctor-19700101-235959-n1.gdt");
}

TEST(CheckWritable, RefusesExistingFilesUnlessForced) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "x.gdt").string();
    EXPECT_TRUE(checkWritable(file, false));
    std::ofstream(file) << "old";
    const auto refused = checkWritable(file, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(gd::base::exitStatus(refused.error().code), 3);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("--force"));
    EXPECT_TRUE(checkWritable(file, true));
}

TEST(CheckWritable, RefusesPlacesWhereNoFileCanBe) {
    const TemporaryFolder folder;
    EXPECT_FALSE(checkWritable(folder.path().string(), true));
    EXPECT_FALSE(checkWritable((folder.path() / "no" / "x.gdt").string(), false));
    std::ofstream(folder.path() / "file") << "";
    EXPECT_FALSE(checkWritable((folder.path() / "file" / "x.gdt").string(), false));
    EXPECT_FALSE(checkWritable("/proc/x.gdt", false)); // also for root
}

TEST(CheckWritable, LeavesDevicesAndPipesAlone) {
    const TemporaryFolder folder;
    const std::string pipe = (folder.path() / "pipe").string();
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string link = (folder.path() / "link").string();
    std::filesystem::create_symlink(pipe, link);
    for (const std::string& name : {pipe, link}) {
        const auto refused = checkWritable(name, true);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, testing::HasSubstr("not a regular file"));
        EXPECT_TRUE(checkReportTarget(name)); // reports may be streamed
    }
    EXPECT_FALSE(checkReportTarget(folder.path().string()));
}

TEST(CheckWritable, LeavesNothingBehind) {
    const TemporaryFolder folder;
    ASSERT_TRUE(checkWritable((folder.path() / "x.gdt").string(), false));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

} // namespace
