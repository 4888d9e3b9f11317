// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/device_buffers.h"

#include "collector/cupti/cupti_api.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace gd::cupti {

namespace {

std::map<CUpti_ActivityAttribute, std::size_t> g_set;
bool g_refusesHost = false;

CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
    if (g_refusesHost && attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED) {
        return CUPTI_ERROR_NOT_SUPPORTED; // as with confidential computing
    }
    std::size_t number = 0;
    std::memcpy(&number, value, *size);
    g_set[attribute] = number;
    return CUPTI_SUCCESS;
}

class DeviceBuffers : public testing::Test {
protected:
    void SetUp() override {
        g_set.clear();
        g_refusesHost = false;
        CuptiApi api;
        api.activitySetAttribute = setAttribute;
        setCuptiApi(api);
    }
    void TearDown() override { setCuptiApi({}); }

    static std::size_t bytes() {
        return g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE]
            * g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT];
    }
};

} // namespace

TEST_F(DeviceBuffers, OnTheDeviceTheyAreSmallAndTakeLittleAtFirst) {
    const std::uint64_t records = setDeviceBuffers(false);
    EXPECT_FALSE(g_set.contains(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED));
    EXPECT_LT(g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE]
            * g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE],
        std::size_t{2} << 20)
        << "less than a page of device memory: the job's own allocations stay where they are";
    EXPECT_LE(bytes(), std::size_t{256} << 20);
    EXPECT_LT(records * 32, bytes()) << "the limit comes before the pool is used up";
    EXPECT_EQ(records, 7'549'740U) << "docs/recording.md says 7.5 million";
}

TEST_F(DeviceBuffers, NodeByNodeTheyLieOnTheHost) {
    const std::uint64_t records = setDeviceBuffers(true);
    EXPECT_EQ(g_set[CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED], 1U);
    EXPECT_LT(records * 32, bytes());
    EXPECT_EQ(records, 15'120'000U) << "README.md and docs/recording.md say 15 million";
}

TEST_F(DeviceBuffers, WhereTheHostIsRefusedTheyStayOnTheDevice) {
    g_refusesHost = true;
    EXPECT_EQ(setDeviceBuffers(true), setDeviceBuffers(false));
}

} // namespace gd::cupti
