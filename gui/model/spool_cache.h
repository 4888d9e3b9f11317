// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace gd::gui {

// Whether this is what `graphdoctor run` leaves when nobody imports it: a folder, or a segment file of one.
bool isSpool(const std::string& path);

// A trace of a spool, for looking at. It lies in the user's cache folder ($XDG_CACHE_HOME/graphdoctor), is
// used again while the spool stays as it is, and only the newest few are kept; nothing is written to the
// spool or beside it. `progress` gets bytes read and in all. Fails like importing does, and soon once `stop`
// is true.
Result<std::string> traceOfSpool(const std::string& spool,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress, const std::atomic<bool>& stop);

} // namespace gd::gui
