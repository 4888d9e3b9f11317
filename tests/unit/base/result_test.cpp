// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/result.h"

#include "analyzer/base/ids.h"
#include "analyzer/base/unique_handle.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gd::base {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0)
        return fail(ErrorCode::badInput, "{} is odd", value);
    return value / 2;
}

Result<int> quarter(int value) {
    GD_TRY_ASSIGN(const int once, half(value).context("halving {}", value));
    GD_TRY(half(once).context("second time"));
    return once / 2;
}

TEST(Result, CarriesAValue) {
    const Result<int> result = quarter(12);
    ASSERT_TRUE(result);
    EXPECT_EQ(*result, 3);
}

TEST(Result, PassesTheFirstErrorUpWithContext) {
    EXPECT_EQ(quarter(7).error().message, "halving 7: 7 is odd");
    EXPECT_EQ(quarter(6).error().message, "second time: 3 is odd");
    EXPECT_EQ(quarter(6).error().code, ErrorCode::badInput);
}

TEST(Result, ErrorKnowsWhereItWasMade) {
    EXPECT_TRUE(std::string(half(1).error().where.file).ends_with("result_test.cpp"));
    EXPECT_NE(std::string(half(1).error().where.function).find("half"), std::string::npos);
}

TEST(Result, HoldsMoveOnlyTypes) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(4);
    const std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 4);
}

TEST(Result, VoidIsGoodByDefaultAndConvertsFromFail) {
    const auto refuse = []() -> Result<void> { return fail(ErrorCode::usage, "no"); };
    EXPECT_TRUE(Result<void>());
    EXPECT_EQ(refuse().error().message, "no");
    EXPECT_EQ(exitStatus(refuse().error().code), 2);
    EXPECT_EQ(exitStatus(ErrorCode::io), 3);
}

TEST(Result, AndThenStopsAtAnError) {
    EXPECT_EQ(*half(8).and_then(half), 2);
    EXPECT_EQ(half(6).and_then(half).error().message, "3 is odd");
    EXPECT_EQ(half(3).value_or(-1), -1);
}

TEST(ResultDeathTest, ReadingTheValueOfAnErrorAborts) {
    EXPECT_DEATH(static_cast<void>(*half(3)), "internal error");
}

TEST(Id, NoneIsNotZero) {
    EXPECT_TRUE(RankId::none().isNone());
    EXPECT_FALSE(RankId(0).isNone());
    EXPECT_LT(RankId(0), RankId(1));
}

int closed = 0;
using Handle = UniqueHandle<int, [](int) { ++closed; }, -1>;

TEST(UniqueHandle, ClosesOnceAlsoAfterMoves) {
    closed = 0;
    {
        Handle first(3);
        Handle second(std::move(first));
        EXPECT_FALSE(first); // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
        first = std::move(second);
        EXPECT_EQ(first.get(), 3);
        EXPECT_EQ(closed, 0);
    }
    EXPECT_EQ(closed, 1);
    Handle released(4);
    EXPECT_EQ(released.release(), 4);
    EXPECT_EQ(closed, 1);
}

} // namespace
} // namespace gd::base
