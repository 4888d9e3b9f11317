// SPDX-License-Identifier: Apache-2.0
// What the window is given before it opens: its colours and its options.
#include "gui/app/options.h"

#include "gui/timeline/theme.h"

#include <gmock/gmock.h>

using namespace gd::gui;

TEST(Theme, LabelsAreReadableOnEveryBarAndTextOnEveryGround) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
        for (const QColor& bar : theme->category)
            EXPECT_GE(contrast(bar, labelOn(bar)), 4.5) << bar.name().toStdString();
        for (const QColor& ground : {theme->background, theme->alternate, theme->header}) {
            EXPECT_GE(contrast(theme->text, ground), 4.5);
            EXPECT_GE(contrast(theme->muted, ground), 4.5);
        }
    }
}

TEST(Options, AreOneSentenceWhenWrong) {
    for (const auto& [arguments, word] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"a", "--view", "finding:0"}, "finding:0"}, {{"a", "--view", "everything"}, "finding:N"},
             {{"a", "--view", "range:2s..1s"}, "end after"},
             {{"a", "--view", "range:1..2"}, "not a duration"}, {{"a", "--size", "12"}, "320x240"},
             {{"a", "--theme", "blue"}, "light or dark"}, {{"a", "--language"}, "needs a value"},
             {{"--screenshot", "x.png"}, "needs a trace"}, {{"a", "--screenshot="}, "name of a file"},
             {{"a", "--sreenshot", "x.png"}, "not an option"}, {{"a", "--view"}, "needs a value"}}) {
        const auto options = parseOptions(arguments);
        ASSERT_FALSE(options) << word;
        EXPECT_EQ(options.error().code, gd::ErrorCode::usage);
        EXPECT_THAT(options.error().message, testing::HasSubstr(word));
    }
    const auto device = parseOptions({"a", "--screenshot", "/dev/null"});
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, testing::HasSubstr("/dev/null is not a regular file"));
    const auto good = parseOptions({"--view=range:0..1.5ms", "--size=800x600", "--", "-odd.gdt"});
    ASSERT_TRUE(good);
    EXPECT_EQ(good->views.at(0).toNs, 1'500'000);
    EXPECT_EQ(good->width, 800);
    EXPECT_EQ(good->traces, std::vector<std::string>{"-odd.gdt"});
}
