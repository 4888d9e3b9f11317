// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/wrap.h"

#include <gtest/gtest.h>

using namespace gd::report;

namespace {

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out(indent, ' ');
    appendWrapped(out, text, indent, indent, width);
    return out;
}

TEST(Wrap, BreaksBetweenWords) {
    EXPECT_EQ(wrapped("one two three", 0, 7), "one two\nthree\n");
    EXPECT_EQ(wrapped("one two three", 2, 9), "  one two\n  three\n");
}

TEST(Wrap, CutsAWordThatIsLongerThanALine) {
    EXPECT_EQ(wrapped("a abcdefgh z", 0, 4), "a\nabcd\nefgh\nz\n");
}

TEST(Wrap, CountsWideCharactersTwice) {
    EXPECT_EQ(columns("\xe4\xb8\xad"
                      "a"),
        3u);
    EXPECT_EQ(
        wrapped("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 0, 4), "\xe4\xb8\xad\xe4\xb8\xad\n\xe4\xb8\xad\n");
}

TEST(Wrap, NoLineBeginsWithAWorkflowCommand) {
    EXPECT_EQ(wrapped("::error::x", 2, 40), "  \\x3a:error::x\n");
    EXPECT_EQ(wrapped("aaaa ::b", 0, 6), "aaaa\n\\x3a:b\n");
    EXPECT_EQ(wrapped("a ::b", 0, 40), "a ::b\n");
    EXPECT_EQ(wrapped("abcdefgh ::", 0, 5), "abcde\nfgh\n\\x3a:\n");
}

} // namespace
