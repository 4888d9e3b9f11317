// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace gd::base {

// An id that cannot be mixed up with another kind of id. `Id::none()` stands for "no such thing"; every other
// value, 0 included (rank 0 exists), is a real id. Ids of CUDA objects are unique per process only: a key is
// (ProcessId, id).
template <class Tag> class Id {
public:
    constexpr Id() = default;
    constexpr explicit Id(std::int64_t value)
        : m_value(value) { }

    static constexpr Id none() { return Id(); }
    constexpr bool isNone() const { return m_value == kNone; }
    constexpr std::int64_t value() const { return m_value; }
    constexpr auto operator<=>(const Id&) const = default; // NOLINT(modernize-use-nullptr): a false alarm

private:
    static constexpr std::int64_t kNone = -1;
    std::int64_t m_value = kNone;
};

using ProcessId = Id<struct ProcessTag>; // row of table process, not the pid
using RankId = Id<struct RankTag>;
using ThreadId = Id<struct ThreadTag>;
using DeviceId = Id<struct DeviceTag>;
using ContextId = Id<struct ContextTag>;
using StreamId = Id<struct StreamTag>;
using TrackId = Id<struct TrackTag>;
using CaptureId = Id<struct CaptureTag>;
using GraphId = Id<struct GraphTag>;
using GraphNodeId = Id<struct GraphNodeTag>;
using GraphExecId = Id<struct GraphExecTag>;
using ReplayId = Id<struct ReplayTag>;
using StringId = Id<struct StringTag>;
using StackId = Id<struct StackTag>;
using CommId = Id<struct CommTag>;

} // namespace gd::base

template <class Tag> struct std::hash<gd::base::Id<Tag>> {
    std::size_t operator()(gd::base::Id<Tag> id) const noexcept {
        return std::hash<std::int64_t>{}(id.value());
    }
};
