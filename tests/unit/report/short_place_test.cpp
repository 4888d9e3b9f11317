// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/short_place.h"

#include "analyzer/report/wrap.h"

#include <gtest/gtest.h>

using namespace gd::report;

namespace {

TEST(ShortFunction, LeavesOutNoMoreThanNeeded) {
    EXPECT_EQ(shortFunction("ns::Layer<float>::forward", 25), "ns::Layer<float>::forward");
    EXPECT_EQ(shortFunction("ns::Layer<std::pair<int, A<2>>>::forward", 22), "ns::Layer<…>::forward");
    EXPECT_EQ(shortFunction("ns::Layer<std::pair<int, A<2>>>::forward", 21), "ns::Layer<…>::forward");
    EXPECT_EQ(shortFunction("ns::Layer<std::pair<int, A<2>>>::forward", 20), "…::Layer<…>::forward");
    EXPECT_EQ(shortFunction("ns::Layer<std::pair<int, A<2>>>::forward", 19), "…::forward");
    EXPECT_EQ(shortFunction("ns::Layer<float>::forward", 3), "…::forward");
    EXPECT_EQ(shortFunction("a_single_long_name", 5), "a_single_long_name");
}

TEST(ShortFunction, KeepsNamesThatHoldBracketsOfTheirOwn) {
    EXPECT_EQ(shortFunction("ns::Matrix::operator<", 8), "ns::Matrix::operator<");
    EXPECT_EQ(shortFunction("ns::run()::{lambda(A<int>)#1}", 8), "ns::run()::{lambda(A<int>)#1}");
}

TEST(ShortPath, DropsFoldersFromTheFront) {
    EXPECT_EQ(shortPath("/home/me/src/train.py", 21), "/home/me/src/train.py");
    EXPECT_EQ(shortPath("/home/me/src/train.py", 20), "…/me/src/train.py");
    EXPECT_EQ(shortPath("/home/me/src/train.py", 16), "…/src/train.py");
    EXPECT_EQ(shortPath("/home/me/src/train.py", 2), "…/train.py");
    EXPECT_EQ(shortPath("train.py", 2), "train.py");
}

TEST(ShortPlace, KeepsFileLineAndMethod) {
    EXPECT_EQ(shortPlace("/a/b.py", 7, "step", 68), "/a/b.py:7 in step");
    EXPECT_EQ(shortPlace("/a/b.py", 0, "", 68), "/a/b.py");
    const std::string place = shortPlace("/home/someone/projects/model/src/layers/transformer_layer.cpp", 111,
        "model::layers::TransformerLayer<float, 4>::forward", 68);
    EXPECT_EQ(place, "…/transformer_layer.cpp:111 in …::TransformerLayer<…>::forward");
    EXPECT_LE(columns(place), 68u);
    EXPECT_EQ(shortPlace(
                  "/home/someone/project/a.cpp", 1, "model::layers::TransformerLayer<float, 4>::forward", 68),
        "/home/someone/project/a.cpp:1 in …::TransformerLayer<…>::forward");
}

} // namespace
