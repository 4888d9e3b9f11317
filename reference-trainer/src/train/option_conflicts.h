// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/cli_options.h"

#include <functional>
#include <string_view>

namespace gdt::train {

/// Tells whether an option, such as "--guard", was on the command line.
using IsGiven = std::function<bool(std::string_view)>;

/// Empty, or one sentence that names an option which would do nothing and the one that makes it so. `config`
/// is what the options came to, with the ranks that there are.
[[nodiscard]] std::string idleOption(const IsGiven& given, const RawOptions& raw, const RunConfig& config);

/// The same for options against which a fault sets itself up, or under which it never happens.
[[nodiscard]] std::string optionAgainstFault(
    const IsGiven& given, const RawOptions& raw, const RunConfig& config);

} // namespace gdt::train
