// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/kernel_signature.h"

#include <gtest/gtest.h>

#include <string>

namespace gd::facts {
namespace {

std::string uses(std::string_view name) {
    std::string text;
    for (const ParamUse use : kernelSignature(name))
        text += use == ParamUse::reads ? 'r' : use == ParamUse::writes ? 'w' : '-';
    return text;
}

TEST(KernelSignature, ConstTellsThemApart) {
    EXPECT_EQ(uses("(anonymous namespace)::fill(unsigned int*, unsigned int const*, int)"), "wr-");
    EXPECT_EQ(uses("f(float const*, double const*)"), "rr");
    EXPECT_EQ(uses("void add<float, 4>(float*, float const*, std::array<char*, 2ul>)"), "wr-");
}

TEST(KernelSignature, WithoutAnyConstNothingIsSaid) {
    EXPECT_EQ(uses("scale(float*, float*, int)"), "---");
    EXPECT_EQ(uses("clear(float*)"), "-");
}

TEST(KernelSignature, PointersToPointersSayNothing) {
    EXPECT_EQ(uses("gather(float**, float const**, void (*)(int), float const*)"), "---r");
    EXPECT_EQ(uses("g(float* const*, float*, int const*)"), "rwr");
}

TEST(KernelSignature, CommasInsideTypesSeparateNothing) {
    EXPECT_EQ(
        uses("void k<2, f(int)::{lambda(int, int)#1}>(f(int)::{lambda(int, int)#1}, a<b, c>*, d const*)"),
        "-wr");
}

TEST(KernelSignature, NamesWithoutParameters) {
    EXPECT_EQ(uses("triton_poi_fused_add_0"), "");
    EXPECT_EQ(uses(""), "");
    EXPECT_EQ(uses(")"), "");
    EXPECT_EQ(uses("f(int*, int const*) [clone .isra]"), "");
    EXPECT_EQ(uses("f()"), "-");
}

} // namespace
} // namespace gd::facts
