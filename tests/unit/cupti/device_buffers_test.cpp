// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/device_buffers.h"

#include "collector/cupti/cupti_api.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace gd::cupti {

namespace {

std::map<CUpti_ActivityAttribute, std::size_t> g_set;

CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
    std::size_t number = 0;
    std::memcpy(&number, value, *size);
    g_set[attribute] = number;
    return CUPTI_SUCCESS;
}

class DeviceBuffers : public testing::Test {
protected:
    void SetUp() override {
        g_set.clear();
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

TEST_F(DeviceBuffers, OnTheDeviceTheyAreSmallAndTakeLittleAtFirst) {
    const std::uint64_t records = setDeviceBuffers();
    EXPECT_FALSE(g_set.contains(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED));
    EXPECT_LT(g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE]
            * g_set[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE],
        std::size_t{2} << 20)
        << "less than a page of device memory: the job's own allocations stay where they are";
    EXPECT_LE(bytes(), std::size_t{256} << 20);
    EXPECT_LT(records * 32, bytes()) << "the limit comes before the pool is used up";
    EXPECT_EQ(records, 7'549'740U);
}

} // namespace
} // namespace gd::cupti
