// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/run_config.h"

namespace gdt::train {

/// Bytes of a machine. Of the host backend's device, or more than any GPU has.
struct MachineSizes {
    double device = 0; ///< of one rank
    double host = 0; ///< shared by all ranks of the machine
};

[[nodiscard]] MachineSizes machineSizes(runtime::Backend backend);

/// What the rank with the most work needs, in bytes. Never more than the run will take, so that nothing
/// possible is refused; buffers of the backward pass, for example, are left out. Any sizes are allowed,
/// nothing is allocated.
[[nodiscard]] MachineSizes leastNeed(const RunConfig& config);

/// Empty when the run may fit, else one sentence with what it needs at least and the options that decide it.
[[nodiscard]] std::string sizeProblem(const RunConfig& config, const MachineSizes& machine);

} // namespace gdt::train
