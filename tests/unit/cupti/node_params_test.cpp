// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/node_params.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace {

using gd::cupti::PackedParams;
using gd::cupti::packParams;

struct Layout {
    std::vector<gd_rt_param> params;
};

bool layoutInfo(const void* function, std::size_t index, std::size_t& offset, std::size_t& bytes) {
    const auto& layout = *static_cast<const Layout*>(function);
    if (index >= layout.params.size()) {
        return false;
    }
    offset = layout.params[index].offset;
    bytes = layout.params[index].bytes;
    return true;
}

template <class T> T at(const PackedParams& packed, std::size_t offset) {
    T value;
    std::memcpy(&value, packed.data + offset, sizeof value);
    return value;
}

TEST(PackParams, CopiesAnArrayOfPointers) {
    int count = 7;
    void* data = &count;
    float scale = 2.5F;
    void* pointers[] = {&count, &data, &scale};
    const Layout layout{{{0, 4}, {8, 8}, {16, 4}}};
    PackedParams packed;
    packParams(pointers, nullptr, layoutInfo, &layout, packed);
    EXPECT_TRUE(packed.readable);
    EXPECT_EQ(packed.count, 3U);
    EXPECT_EQ(packed.bytes, 20U);
    EXPECT_EQ(at<int>(packed, 0), 7);
    EXPECT_EQ(at<int>(packed, 4), 0); // padding
    EXPECT_EQ(at<void*>(packed, 8), &count);
    EXPECT_EQ(at<float>(packed, 16), 2.5F);
    EXPECT_EQ(packed.params[1].offset, 8U);
}

TEST(PackParams, CutsAPackedBufferByTheSameOffsets) {
    struct {
        void* data;
        long value;
    } buffer{&buffer, 42};
    std::size_t bytes = sizeof buffer;
    void* extra[]
        = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const Layout layout{{{0, 8}, {8, 8}}};
    PackedParams packed;
    packParams(nullptr, extra, layoutInfo, &layout, packed);
    EXPECT_TRUE(packed.readable);
    EXPECT_EQ(packed.count, 2U);
    EXPECT_EQ(at<void*>(packed, 0), &buffer);
    EXPECT_EQ(at<long>(packed, 8), 42);
}

TEST(PackParams, RefusesABufferThatIsTooShort) {
    long buffer = 1;
    std::size_t bytes = sizeof buffer;
    void* extra[]
        = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_END};
    const Layout layout{{{0, 8}, {8, 8}}};
    PackedParams packed;
    packParams(nullptr, extra, layoutInfo, &layout, packed);
    EXPECT_FALSE(packed.readable);
    EXPECT_EQ(packed.count, 1U);
}

TEST(PackParams, RefusesABufferWithoutALayout) {
    long buffer = 1;
    std::size_t bytes = sizeof buffer;
    void* extra[]
        = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const Layout none;
    PackedParams packed;
    packParams(nullptr, extra, layoutInfo, &none, packed);
    EXPECT_FALSE(packed.readable);
}

TEST(PackParams, AcceptsAKernelWithoutParameters) {
    const Layout none;
    PackedParams packed;
    packParams(nullptr, nullptr, layoutInfo, &none, packed);
    EXPECT_TRUE(packed.readable);
    EXPECT_EQ(packed.count, 0U);
    EXPECT_EQ(packed.bytes, 0U);
}

TEST(PackParams, LeavesOutWhatDoesNotFit) {
    std::vector<std::uint8_t> large(8000, 0xab);
    int small = 1;
    void* pointers[] = {&small, large.data()};
    const Layout layout{{{0, 4}, {8, 8000}}};
    PackedParams packed;
    packParams(pointers, nullptr, layoutInfo, &layout, packed);
    EXPECT_FALSE(packed.readable);
    EXPECT_EQ(packed.count, 1U);
    EXPECT_EQ(packed.bytes, 4U);
}

TEST(PackParams, KeepsWholeStructs) {
    struct Tensors {
        void* addresses[40];
    } list{};
    list.addresses[39] = &list;
    void* pointers[] = {&list};
    const Layout layout{{{0, sizeof list}}};
    PackedParams packed;
    packParams(pointers, nullptr, layoutInfo, &layout, packed);
    EXPECT_TRUE(packed.readable);
    EXPECT_EQ(at<void*>(packed, 39 * 8), &list);
}

} // namespace
