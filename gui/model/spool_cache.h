// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace gd::gui {

// Whether this is what `graphdoctor run` leaves when nobody imports it: a folder, or a segment file of one.
bool isSpool(const std::string& path);

// A trace of a spool, for looking at. It lies in the user's cache folder ($XDG_CACHE_HOME/graphdoctor), is
// used again while the spool stays as it is; nothing is written to the spool or beside it. `progress` gets
// bytes read and in all. Fails like importing does, and soon once `stop` is true.
Result<std::string> traceOfSpool(const std::string& spool,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress, const std::atomic<bool>& stop);

// Keeps the traces of spools that were used last, a few and at least `inUse`, and removes the others and what
// imports left that were killed. Call it when all traces that one looks at are open.
void dropOldTraces(std::size_t inUse);

} // namespace gd::gui
