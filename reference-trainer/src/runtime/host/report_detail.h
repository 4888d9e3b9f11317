// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/host/report_to_tool.h"

#include <iterator>

// What the parts of report_to_tool share.
namespace gdt::runtime::host {

[[nodiscard]] inline std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

[[nodiscard]] inline std::uint32_t ordinal(const DeviceState& device) {
    return static_cast<std::uint32_t>(device.options.ordinal);
}

[[nodiscard]] inline std::uint32_t copyKind(CopyKind kind) {
    switch (kind) {
    case CopyKind::HostToDevice:
        return GD_RT_COPY_HTOD;
    case CopyKind::DeviceToHost:
        return GD_RT_COPY_DTOH;
    case CopyKind::DeviceToDevice:
        return GD_RT_COPY_DTOD;
    case CopyKind::HostToHost:
        break;
    }
    return GD_RT_COPY_HTOH;
}

[[nodiscard]] inline const char* commName(std::uint32_t kind) {
    static constexpr const char* kNames[]
        = {"", "AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "Send", "Recv", "AllToAll"};
    return kind < std::size(kNames) ? kNames[kind] : "";
}

/// The same for an operation that only takes the time of one.
[[nodiscard]] inline const char* modelledCommName(std::uint32_t kind) {
    static constexpr const char* kNames[]
        = {"", "MODELLED AllReduce", "MODELLED ReduceScatter", "MODELLED AllGather", "MODELLED Broadcast",
            "MODELLED Reduce", "MODELLED Send", "MODELLED Recv", "MODELLED AllToAll"};
    return kind < std::size(kNames) ? kNames[kind] : "";
}

/// A zeroed record that states its size.
template <class Record> [[nodiscard]] Record sized() {
    Record record{};
    record.size = sizeof(Record);
    return record;
}

inline void setShape(std::uint32_t (&grid)[3], std::uint32_t (&block)[3], const Grid& shape) {
    grid[0] = shape.gridX;
    grid[1] = shape.gridY;
    grid[2] = shape.gridZ;
    block[0] = shape.blockX;
    block[1] = shape.blockY;
    block[2] = shape.blockZ;
}

} // namespace gdt::runtime::host
