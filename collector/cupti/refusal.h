// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::cupti {

/// What CUPTI refused to do for us. Each kind becomes one issue of the trace and, where a whole source is
/// missing for it, one line on stderr; the job goes on, and so does the rest of the recording.
enum class Refusal : std::uint8_t {
    Callbacks, ///< some callbacks cannot be switched on
    Devices, ///< which device a context belongs to
    Streams, ///< numbers of streams or contexts
    Graphs, ///< numbers of graphs, executables or nodes
    Version, ///< the layout of activity records is not known
    Buffers, ///< activity cannot be delivered
    KindOn, ///< a kind of activity cannot be switched on
    KindOff, ///< a kind of activity cannot be switched off
    Records, ///< delivered records cannot be read
    DropCount, ///< how many records were dropped
    Flush, ///< records cannot be fetched before their buffer is full
    Count,
};

/// Tells of a refusal, once for each kind. Any thread; not in a callback of a call that must not be delayed:
/// it writes to stderr at most once.
void refused(Refusal what) noexcept;
/// It has been told of.
bool wasRefused(Refusal what) noexcept;

} // namespace gd::cupti
