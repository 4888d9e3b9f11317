// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace gd::cli {

// What one source of a recording gives on this machine.
struct SourceCheck {
    enum class State { works, absent, broken };
    State state = State::works;
    std::string source;
    std::string detail; // one clause: what was seen, or what is missing
    std::string remedy; // what to do; empty = nothing
};
const char* stateName(SourceCheck::State state);

// Records a short built-in job and looks for what it did in the trace. `python` is the interpreter whose
// stacks and PyTorch are tried; one that was named must be there, python3 otherwise need not. Takes one to
// two seconds, longer where PyTorch is imported. Fails when no trace came of it.
Result<std::vector<SourceCheck>> checkSources(const std::optional<std::string>& python);

// A line for each source and its remedy below it, indented by `indent` columns.
std::string checkText(const std::vector<SourceCheck>& checks, int indent);

// graphdoctor run --self-check: prints the lines; 0, 1 when something that this machine has does not work, 3
// when no trace came of it.
int selfCheck(const std::vector<std::string>& command);

} // namespace gd::cli
