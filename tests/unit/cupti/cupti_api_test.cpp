// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/cupti_api.h"

#include <iterator>

#include <gtest/gtest.h>

namespace {

using gd::cupti::chooseMappedCupti;

TEST(ChooseCupti, TakesTheMappedOneOfTheSameMajor) {
    const char* mapped[]
        = {"/env/lib/libcudart.so.13", "/env/cu12/libcupti.so.12", "/env/cu13/libcupti.so.13"};
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 13), "/env/cu13/libcupti.so.13");
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 12), "/env/cu12/libcupti.so.12");
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 11), "");
}

TEST(ChooseCupti, NeverTakesTritonsOwn) {
    const char* mapped[] = {"/env/site-packages/triton/backends/nvidia/lib/cupti/libcupti.so.12"};
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 12), "");
}

TEST(ChooseCupti, KnowsTheFileBehindTheLinks) {
    const char* mapped[] = {"/toolkit/lib64/libcupti.so.2025.3.1"};
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 13), "/toolkit/lib64/libcupti.so.2025.3.1");
}

TEST(ChooseCupti, IsNotMisledByOtherNames) {
    const char* mapped[] = {"/x/libcupti_extra.so.13", "/x/libcupti.so", "/x/libcuptiutil.so.13"};
    EXPECT_EQ(chooseMappedCupti(mapped, std::size(mapped), 13), "");
}

} // namespace
