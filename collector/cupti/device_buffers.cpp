// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/device_buffers.h"

#include "collector/cupti/cupti_api.h"

#include <cstddef>

namespace gd::cupti {

namespace {

constexpr std::size_t kRecordBytes = 32;
constexpr std::size_t kDeviceBufferBytes = 512 * 1024;
constexpr std::size_t kDeviceBuffers = 512; // 256 MiB at the very most
constexpr std::size_t kHostBufferBytes = 3'200'000; // CUPTI's default
constexpr std::size_t kHostBuffers = 168; // 512 MiB

template <class Value> bool set(CUpti_ActivityAttribute attribute, Value value) noexcept {
    std::size_t size = sizeof value;
    return cuptiApi().activitySetAttribute != nullptr
        && cuptiApi().activitySetAttribute(attribute, &size, &value) == CUPTI_SUCCESS;
}

} // namespace

std::uint64_t setDeviceBuffers(bool nodeByNode) noexcept {
    const bool onHost
        = nodeByNode && set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
    const std::size_t bytes = onHost ? kHostBufferBytes : kDeviceBufferBytes;
    const std::size_t buffers = onHost ? kHostBuffers : kDeviceBuffers;
    // Refused: CUPTI's own values stay, which are larger in all.
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, bytes);
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, buffers);
    set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 1);
    return static_cast<std::uint64_t>(bytes / kRecordBytes) * buffers / 10 * 9;
}

} // namespace gd::cupti
