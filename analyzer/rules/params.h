// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/frames.h"
#include "analyzer/rules/rule_file.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gd::rules {

// Parameters of every rule after --param: by rule id.
using ParamTable = std::map<std::string, std::vector<RuleParam>>;

// Applies "NAME=VALUE" (every rule that has NAME), "GD301.NAME=VALUE" and "frames.skip=GLOB", in order. A
// name that no rule has, or a text where the default is a number, is a usage error that names what would be
// possible.
Result<ParamTable> applyParams(
    std::span<const RuleFile> rules, std::span<const std::string> overrides, FrameFilter& frames);

// Integer, real, else text.
Value parseParamValue(std::string_view text);

} // namespace gd::rules
