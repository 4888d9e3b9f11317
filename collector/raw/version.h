// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::raw {

/// Version of everything in `collector/raw`. Change it with every change of a record, a chunk or the ring: an
/// importer refuses files of a newer version by name and reads older ones.
/// 4: checksums cover the chunk header; thread numbers of 24 bits in ApiCall and Range; pools and samples of
/// memory.
inline constexpr std::uint16_t kRawVersion = 4;

} // namespace gd::raw
