// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/shm_communicator.h"
#include "comm/shm_segment.h"

namespace gdt::comm {

/// Opens the segment of options.name: rank 0 leaves its name, and its options.agreement, in a file of
/// options.folder, the others wait for that file. False, with one sentence in `error`, when the ranks did not
/// all come before the time limit, or when this rank's agreement is not rank 0's. All have come then, so that
/// the others see it end.
[[nodiscard]] bool meetInFolder(const ShmOptions& options, ShmSegment& segment, std::string& error);

} // namespace gdt::comm
