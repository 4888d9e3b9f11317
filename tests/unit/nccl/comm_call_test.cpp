// SPDX-License-Identifier: Apache-2.0
#include "collector/nccl/comm_call.h"

#include <gtest/gtest.h>

namespace gd::nccl {

TEST(CommCall, KnowsNcclsNamesWithAndWithoutPrefix) {
    EXPECT_EQ(kindOf("AllReduce"), GD_RT_COMM_ALL_REDUCE);
    EXPECT_EQ(kindOf("ncclAllReduce"), GD_RT_COMM_ALL_REDUCE);
    EXPECT_EQ(kindOf("Recv"), GD_RT_COMM_RECV);
    EXPECT_EQ(kindOf("AlltoAll"), GD_RT_COMM_ALL_TO_ALL);
    EXPECT_EQ(static_cast<int>(kindOf("Gather")), 0);
    EXPECT_EQ(static_cast<int>(kindOf("")), 0);
}

TEST(CommCall, TypesAreNcclsNumbers) {
    EXPECT_EQ(dtypeOf("ncclInt8"), 0);
    EXPECT_EQ(dtypeOf("ncclUint64"), 5);
    EXPECT_EQ(dtypeOf("ncclFloat16"), 6);
    EXPECT_EQ(dtypeOf("ncclFloat32"), 7);
    EXPECT_EQ(dtypeOf("ncclFloat64"), 8);
    EXPECT_EQ(dtypeOf("ncclBfloat16"), 9);
    EXPECT_EQ(dtypeOf("ncclFloat8e5m2"), 11);
    EXPECT_EQ(dtypeOf("Unknown"), -1);
}

} // namespace gd::nccl
