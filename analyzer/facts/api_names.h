// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gd::facts {

// Column api.class: what a call does to a capture and to the host.
enum class ApiClass : std::uint8_t { other, capture, edge, launch, copy, copySync, sync, alloc, exec, graph };

// Single calls that passes must tell from others of their class.
enum class KnownCall : std::uint8_t {
    none,
    beginCapture,
    endCapture,
    waitEvent,
    recordEvent,
    waitValue, // or a batch of memory operations, which may wait
    copyToDevice,
    fill,
    nodeParams, // of a graph
    execNodeParams,
    destroyObject, // of a graph, executable, stream, event or module
    commAbort
};

// Classes that no pass looks at are `other`.
ApiClass apiClassFrom(std::string_view word);
// By the driver function's name, as in column api.name.
KnownCall knownCallFrom(std::string_view name);

} // namespace gd::facts
