// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::cupti {

/// The id of a stream handle (cudaStream_t, CUstream), for sources other than CUPTI that name streams; NULL
/// is the legacy default stream. Any thread; no driver call.
std::uint64_t streamIdOf(void* stream) noexcept;

} // namespace gd::cupti
