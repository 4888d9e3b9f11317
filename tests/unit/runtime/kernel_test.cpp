// SPDX-License-Identifier: Apache-2.0
#include "test_kernels.h"

namespace gdt::runtime::test {

namespace {

struct Mixed {
    static constexpr const char* kName = "mixed";
    struct Args {
        const float* in = nullptr;
        int rows = 0;
        double scale = 0;
        bool accumulate = false;
        float* out = nullptr;
    };
    static void host(const Args& a) { *a.out = a.accumulate ? *a.out + *a.in : *a.in; }
};

struct Nothing {
    static constexpr const char* kName = "nothing";
    struct Args { };
    static void host(const Args&) { }
};

} // namespace

TEST(KernelInfo, ListsOffsetsAndSizesOfArguments) {
    const KernelInfo& info = kernelInfo<Mixed>();
    ASSERT_EQ(info.fieldCount, 5U);
    EXPECT_EQ(info.argumentBytes, sizeof(Mixed::Args));
    const ParameterField expected[] = {{0, 8}, {8, 4}, {16, 8}, {24, 1}, {32, 8}};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(info.fields[i].offset, expected[i].offset) << i;
        EXPECT_EQ(info.fields[i].sizeBytes, expected[i].sizeBytes) << i;
    }
    EXPECT_EQ(&info, &kernelInfo<Mixed>());
}

TEST(KernelInfo, HasNoFieldsWithoutArguments) {
    EXPECT_EQ(kernelInfo<Nothing>().fieldCount, 0U);
}

TEST(Status, HasCudasNumbersAndNames) {
    EXPECT_EQ(static_cast<int>(Status::CaptureUnjoined), 904);
    EXPECT_STREQ(statusName(Status::CaptureUnsupported), "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
    EXPECT_STREQ(statusName(Status::GraphExecUpdateFailure), "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE");
}

TEST(Failure, KeepsTheInnermostPlace) {
    clearFailure();
    const auto inner = []() -> Status {
        GDT_TRY(Status::CaptureMerge);
        return Status::Success;
    };
    const auto outer = [&]() -> Status {
        GDT_TRY(inner());
        return Status::Success;
    };
    EXPECT_EQ(outer(), Status::CaptureMerge);
    EXPECT_STREQ(lastFailure().expression, "Status::CaptureMerge");
    clearFailure();
    EXPECT_EQ(lastFailure().status, Status::Success);
}

} // namespace gdt::runtime::test
