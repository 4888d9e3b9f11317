// SPDX-License-Identifier: Apache-2.0
#include "cli/run/control.h"

#include "tests/unit/run/temporary_folder.h"

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
    const auto control = Control::create(folder.path(), {RecordingLevel::Light, true, 123});
    ASSERT_TRUE(control);
    const ControlPage page = pageIn(folder.path());
    EXPECT_EQ(page.magic, gd::raw::kControlMagic);
    EXPECT_EQ(page.version, gd::raw::kRawVersion);
    EXPECT_EQ(page.level, static_cast<std::uint32_t>(RecordingLevel::Light));
    EXPECT_EQ(page.redact, 1u);
    EXPECT_EQ(page.maxEventBytes, 123u);
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
