// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace gd::rules {
namespace {

std::string render(const std::string& text, const Value& x) {
    const auto message = MessageTemplate::parse(text);
    if (!message)
        return "parse: " + message.error().message;
    const Result<std::string> result
        = message->render([&](std::string_view name) { return name == "x" ? &x : nullptr; });
    return result ? *result : "render: " + result.error().message;
}

TEST(MessageTemplate, FormatsNumbers) {
    EXPECT_EQ(render("{x}", std::int64_t{-7}), "-7");
    EXPECT_EQ(render("{x}", 500.0), "500");
    EXPECT_EQ(render("{x}", 0.25), "0.25");
    EXPECT_EQ(render("{x:.1f} us", 16.26), "16.3 us");
    EXPECT_EQ(render("{x:.0f}", std::int64_t{3}), "3");
    EXPECT_EQ(render("{x:.2%}", 0.12345), "12.35%");
    EXPECT_EQ(render("{x:%}", 0.5), "50%");
    EXPECT_EQ(render("{x:,}", std::int64_t{1234567}), "1,234,567");
    EXPECT_EQ(render("{x:,}", std::int64_t{-123}), "-123");
    EXPECT_EQ(render("{x:,}", std::int64_t{-1234}), "-1,234");
    EXPECT_EQ(render("{x:ns}", std::int64_t{16340}), "16.3 us");
    EXPECT_EQ(render("{x:bytes}", 4194304.0), "4.00 MiB");
    EXPECT_EQ(render("{x:x}", std::int64_t{-1}), "0xffffffffffffffff");
}

TEST(MessageTemplate, CountsNouns) {
    EXPECT_EQ(render("{x:count step}", std::int64_t{1}), "1 step");
    EXPECT_EQ(render("{x:count executable}", std::int64_t{0}), "0 executables");
    EXPECT_EQ(render("{x:count launch}", 2.0), "2 launches");
    EXPECT_EQ(render("{x:count rank} each", Value()), "unknown ranks each");
    EXPECT_EQ(render("{x:count step}", std::string("y")),
        "render: {x:count step} needs a number, but the value is the text \"y\"");
    EXPECT_THAT(render("{x:count }", std::int64_t{1}), testing::StartsWith("parse: "));
}

TEST(MessageTemplate, SaysUnknownForNull) {
    EXPECT_EQ(render("{x}/{x:.1f}/{x:ns}", Value()), "unknown/unknown/unknown");
}

TEST(MessageTemplate, KeepsTextAsItIs) {
    EXPECT_EQ(render("<{x}>", std::string("a{b}%\x1b")), "<a{b}%\x1b>");
    EXPECT_EQ(render("{{{x}}}", std::string("y")), "{y}");
    EXPECT_EQ(render("{x:.1f}", std::string("y")),
        "render: {x:.1f} needs a number, but the value is the text \"y\"");
}

TEST(MessageTemplate, NamesKernelsShort) {
    EXPECT_EQ(render("{x:kernel}", std::string("void ns::scale<float, 4>(float*, int)")), "scale<float, 4>");
    EXPECT_EQ(render("{x:kernel}", std::string("all_reduce")), "all_reduce");
    EXPECT_EQ(render("{x:kernel}", Value()), "unknown");
}

TEST(MessageTemplate, SurvivesExtremeNumbers) {
    EXPECT_EQ(render("{x:ns}", 1e300), "2562047 h 47 min");
    EXPECT_EQ(render("{x:,}", -1e300), "-9,223,372,036,854,775,808");
    EXPECT_EQ(render("{x:,}", std::numeric_limits<double>::quiet_NaN()), "0");
    EXPECT_EQ(render("{x:bytes}", std::int64_t{INT64_MIN}), "-8192 PiB");
}

TEST(MessageTemplate, NamesThePositionOfAnError) {
    EXPECT_EQ(render("ab {x", 1.0), "parse: character 4: a '{' without '}'; write {{ for a brace");
    EXPECT_EQ(render("ab } c", 1.0), "parse: character 4: a '}' without '{'; write }} for a brace");
    EXPECT_EQ(render("{}", 1.0),
        "parse: character 1: expected the name of a column or parameter between braces, found \"\"");
    EXPECT_EQ(render("{x:}", 1.0), "1");
    EXPECT_EQ(render("{x:.f}", 1.0),
        "parse: character 1: unknown format \".f\"; expected .1f, .1%, %, a comma, ns, bytes, x, kernel or "
        "count NOUN");
    EXPECT_EQ(render("{y}", 1.0), "render: {y} is neither a column of the query nor a parameter");
}

TEST(MessageTemplate, ListsItsNamesOnce) {
    EXPECT_EQ(MessageTemplate::parse("{b} {a:ns} {b:.1f}")->names(), (std::vector<std::string>{"b", "a"}));
}

} // namespace
} // namespace gd::rules
