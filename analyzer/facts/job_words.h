// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

#include <optional>
#include <string>
#include <string_view>

namespace gd::facts {

// 1000 * major + 10 * minor of the first "MAJOR.MINOR" in a text, as CUDA numbers its versions; nullopt where
// there is none.
std::optional<std::int64_t> cudaNumber(std::string_view text);

// What a graph manager says in a mark "graph NAME: STATE -> STATE (REASON), N nodes".
struct GraphDecision {
    std::string graph;
    std::string from;
    std::string to;
    std::string reason; // empty = none given
};

std::optional<GraphDecision> graphDecision(std::string_view mark);

// Fills table graph_decision from marks.
Result<void> buildGraphDecision(FactContext& context);
// Fills table stated_version from process facts, environment and marks.
Result<void> buildStatedVersion(FactContext& context);

} // namespace gd::facts
