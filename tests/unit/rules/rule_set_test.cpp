// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_set.h"

#include "sample_rule.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gd::rules {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RuleSetTest : public testing::Test {
protected:
    RuleSetTest() { std::filesystem::create_directory(folder.path() / "performance"); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder.path() / name) << text;
    }
    Result<RuleSet> load() const {
        const std::vector<std::string> paths{folder.path().string()};
        return loadRules(paths);
    }
    test::TemporaryFolder folder;
};

TEST_F(RuleSetTest, ReadsGroupsListsAndGoesOnAfterABrokenFile) {
    write("performance/GD901-sample-gap.sql", sampleText());
    write("performance/GD900-broken.sql", "nonsense");
    write("performance/notes.txt", "not a rule");
    write("precedence.txt", "[step]\nGD901\n");
    write("frames.txt", "module libx*\n");
    const RuleSet set = std::move(load()).value();
    ASSERT_EQ(set.rules.size(), 1U);
    EXPECT_EQ(set.rules[0].group, "performance");
    ASSERT_EQ(set.broken.size(), 1U);
    EXPECT_THAT(set.broken[0].message, HasSubstr("GD900-broken.sql:1: "));
    EXPECT_EQ(set.precedence.ids(RootKind::step), (std::vector<std::string>{"GD901"}));
    EXPECT_TRUE(set.frames.skips({"", 0, "f", "/a/libx.so", "native"}));
}

TEST_F(RuleSetTest, AnIdIsUsedOnce) {
    write("performance/GD901-sample-gap.sql", sampleText());
    write("GD901-sample-gap.sql", sampleText());
    const RuleSet set = std::move(load()).value();
    EXPECT_EQ(set.rules.size(), 1U);
    ASSERT_EQ(set.broken.size(), 1U);
    EXPECT_THAT(set.broken[0].message, HasSubstr("rule GD901 is already defined in"));
}

TEST_F(RuleSetTest, BrokenListsAreNamed) {
    write("precedence.txt", "GD901\n");
    write("frames.txt", "nonsense\n");
    EXPECT_EQ(load()->broken.size(), 2U);
}

TEST_F(RuleSetTest, MissingFolderIsAnError) {
    const std::vector<std::string> paths{(folder.path() / "none").string()};
    EXPECT_THAT(loadRules(paths).error().message, HasSubstr("expected a rule or a folder of rules"));
}

TEST_F(RuleSetTest, CatalogueListsRulesByGroup) {
    write("performance/GD901-sample-gap.sql", sampleText());
    EXPECT_THAT(catalogueMarkdown(load()->rules),
        HasSubstr("\n## performance\n\n| rule | finds | severity | impact | parameters |\n| --- | --- | --- "
                  "| --- | --- |\n"
                  "| [GD901](performance/GD901-sample-gap.sql) | Sample: device idles before a replay | "
                  "warning | slow | "
                  "`gap_us` 500 |\n"));
}

} // namespace
} // namespace gd::rules
