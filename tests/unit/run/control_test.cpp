// SPDX-License-Identifier: Apache-2.0
#include "cli/run/control.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace gd::run;
using gd::raw::ControlPage;
using gd::raw::RecordingLevel;

namespace {

ControlPage pageIn(const std::filesystem::path& folder) {
    ControlPage page = {};
    std::ifstream(folder / gd::raw::kControlPageName, std::ios::binary)
        .read(reinterpret_cast<char*>(&page), sizeof page);
    return page;
}

TEST(Control, MakesAWholePage) {
    const gd::test::TemporaryFolder folder;
    const auto control
        = Control::create(folder.path(), {RecordingLevel::Light, true, true, "^mine$", "steps=1"});
    ASSERT_TRUE(control);
    const ControlPage page = pageIn(folder.path());
    EXPECT_EQ(page.magic, gd::raw::kControlMagic);
    EXPECT_EQ(page.version, gd::raw::kRawVersion);
    EXPECT_EQ(page.level, static_cast<std::uint32_t>(RecordingLevel::Light));
    EXPECT_EQ(page.redact, 1u);
    EXPECT_GT(page.startNs, 0);
    EXPECT_EQ(control->stepRange(), "^mine$");
    EXPECT_EQ(control->windows(), "steps=1");
    EXPECT_EQ(
        std::filesystem::file_size(folder.path() / gd::raw::kControlPageName), gd::raw::kControlPageBytes);
}

TEST(Control, AChangeOfLevelGrowsTheGeneration) {
    const gd::test::TemporaryFolder folder;
    const auto made = Control::create(folder.path(), {});
    ASSERT_TRUE(made);
    auto control = Control::open(folder.path());
    ASSERT_TRUE(control);
    const std::uint32_t before = pageIn(folder.path()).generation;
    control->setLevel(RecordingLevel::Off);
    EXPECT_EQ(made->level(), RecordingLevel::Off);
    EXPECT_GT(pageIn(folder.path()).generation, before);
}

TEST(Control, StopsAndStartsByHand) {
    const gd::test::TemporaryFolder folder;
    auto control = Control::create(folder.path(), {RecordingLevel::Full, false, true, {}, {}});
    ASSERT_TRUE(control);
    EXPECT_FALSE(control->isManual());
    control->stop(RecordingLevel::History);
    EXPECT_EQ(control->level(), RecordingLevel::History);
    EXPECT_TRUE(control->isManual());
    EXPECT_EQ(control->window(), 0u);
    control->start();
    EXPECT_EQ(control->level(), RecordingLevel::Full);
    EXPECT_EQ(control->window(), 1u);
}

TEST(Control, AFlushRequestIsAChange) {
    const gd::test::TemporaryFolder folder;
    auto control = Control::create(folder.path(), {});
    ASSERT_TRUE(control);
    const ControlPage before = pageIn(folder.path());
    control->requestFlush();
    const ControlPage after = pageIn(folder.path());
    EXPECT_EQ(after.flushRequest, before.flushRequest + 1);
    EXPECT_GT(after.generation, before.generation);
    EXPECT_EQ(after.level, before.level);
}

TEST(Control, RefusesWhatIsNoPage) {
    const gd::test::TemporaryFolder folder;
    const auto file = folder.path() / gd::raw::kControlPageName;
    std::ofstream(file) << std::string(gd::raw::kControlPageBytes, 'x');
    const auto control = Control::open(folder.path());
    ASSERT_FALSE(control);
    EXPECT_NE(control.error().message.find("no control page"), std::string::npos);
    std::filesystem::rename(file, folder.path() / "elsewhere");
    std::filesystem::create_symlink(folder.path() / "elsewhere", file);
    EXPECT_FALSE(Control::open(folder.path())) << "a link is not followed";
}

TEST(Control, RefusesAPageThatIsCutOff) {
    const gd::test::TemporaryFolder folder;
    std::ofstream(folder.path() / gd::raw::kControlPageName) << "short";
    const auto control = Control::open(folder.path());
    ASSERT_FALSE(control);
    EXPECT_NE(control.error().message.find("has 5 bytes"), std::string::npos);
}

TEST(Control, KnowsTheLevels) {
    EXPECT_EQ(levelFrom("full"), RecordingLevel::Full);
    EXPECT_EQ(levelFrom("off"), std::nullopt);
}

} // namespace
