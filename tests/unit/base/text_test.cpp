// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/text.h"

#include <gtest/gtest.h>

namespace gd::base {
namespace {

TEST(Glob, MatchesWholeTextOnly) {
    EXPECT_TRUE(globMatch("libcuda*", "libcudart.so.13"));
    EXPECT_FALSE(globMatch("libcuda*", "/usr/lib/libcuda.so"));
    EXPECT_TRUE(globMatch("*/site-packages/torch/*", "/opt/venv/lib/python3.12/site-packages/torch/nn/m.py"));
    EXPECT_FALSE(globMatch("*/site-packages/torch/*", "/opt/site-packages/torchvision/m.py"));
    EXPECT_TRUE(globMatch("a?c", "abc"));
    EXPECT_FALSE(globMatch("a?c", "ac"));
    EXPECT_TRUE(globMatch("", ""));
    EXPECT_FALSE(globMatch("", "a"));
    EXPECT_TRUE(globMatch("**", ""));
    EXPECT_TRUE(globMatch("*ab*ab", "abaabab"));
}

TEST(Glob, StaysFastOnHostilePatterns) {
    const std::string text(20'000, 'a');
    EXPECT_FALSE(globMatch("*a*a*a*a*a*a*a*a*b", text));
}

TEST(EscapeForTerminal, KeepsTextAndShowsControl) {
    EXPECT_EQ(escapeForTerminal("gemm<float>\tµ 漢"), "gemm<float>\tµ 漢");
    EXPECT_EQ(escapeForTerminal("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
    EXPECT_EQ(escapeForTerminal("\xc2\x9b"), "\\u{009b}");
    EXPECT_EQ(escapeForTerminal("\xe2\x80\xae"), "\\u{202e}");
}

TEST(EscapeForTerminal, ShowsBytesThatAreNotUtf8) {
    EXPECT_EQ(escapeForTerminal("\xff"), "\\xff");
    EXPECT_EQ(escapeForTerminal("\xc0\xaf"), "\\xc0\\xaf");
    EXPECT_EQ(escapeForTerminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(escapeForTerminal("\xe6\xbc"), "\\xe6\\xbc");
}

TEST(Text, TrimAndSplit) {
    EXPECT_EQ(trim("  a b\r\n"), "a b");
    EXPECT_EQ(trim(" \t"), "");
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

} // namespace
} // namespace gd::base
