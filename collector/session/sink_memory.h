// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session.h"

namespace gd::session::sink {

/// A context is gone, and with it, without any call of their own, the allocations that belong to it.
void freeWithContext(const Entry& entry, std::uint64_t context) noexcept;

} // namespace gd::session::sink
