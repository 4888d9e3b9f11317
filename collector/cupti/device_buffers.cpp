// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/device_buffers.h"

#include "collector/cupti/cupti_api.h"

#include <cstddef>

namespace gd::cupti {

namespace {

constexpr std::size_t kRecordBytes = 32;
constexpr std::size_t kBufferBytes = 512 * 1024;
constexpr std::size_t kBuffers = 512; // 256 MiB at the very most

template <class Value> bool set(CUpti_ActivityAttribute attribute, Value value) noexcept {
    std::size_t size = sizeof value;
    return cuptiApi().activitySetAttribute != nullptr
        && cuptiApi().activitySetAttribute(attribute, &size, &value) == CUPTI_SUCCESS;
}

} // namespace

std::uint64_t setDeviceBuffers() noexcept {
    // Refused: CUPTI's own values stay, which are larger in all.
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, kBufferBytes);
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, kBuffers);
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 1);
    return static_cast<std::uint64_t>(kBufferBytes / kRecordBytes) * kBuffers / 10 * 9;
}

} // namespace gd::cupti
