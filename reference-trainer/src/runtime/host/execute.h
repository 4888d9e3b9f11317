// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/host/states.h"

namespace gdt::runtime::host {

/// Runs one entry of a stream's queue in the calling thread. A failure is raised on the device; after a
/// failure only waits, recordings and releases still happen, so that nobody waits for ever.
void runEntry(StreamState& stream, Entry& entry);

/// Whether the calling thread runs a host function now.
[[nodiscard]] bool insideHostFunction();

} // namespace gdt::runtime::host
