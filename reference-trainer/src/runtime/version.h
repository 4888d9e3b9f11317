// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"

#include <string>

namespace gdt::runtime {

/// Versions of CUDA as CUDA writes them: 1000 * major + 10 * minor.
struct Versions {
    int built = 0; ///< that this program was compiled for
    int runtime = 0; ///< that the runtime says it is; of the host backend: whose rules it follows
};

/// Asks the runtime, or answers what overrideVersion() said.
[[nodiscard]] Versions versions(Backend backend);

/// The runtime says from now on that it is another version, to everybody. Before the first device.
void overrideVersion(int version);

/// "13.0" for 13000.
[[nodiscard]] std::string versionText(int version);

/// Empty when a runtime of the same major version is there, else one sentence.
[[nodiscard]] std::string versionProblem(const Versions& versions);

} // namespace gdt::runtime
