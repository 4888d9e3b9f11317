// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gd::facts {

// Raised when a fact's meaning or columns change: traces with another number get their facts built again.
inline constexpr std::int64_t kFactsVersion = 20;

struct FactsOptions {
    // ECMAScript expression searched in range names; each match is one step.
    std::optional<std::string> stepRange = std::nullopt;
    // Builds into the temp schema of the connection, where the tables hide the trace's own: for readers of a
    // trace whose facts are of another version. The trace is only read then.
    bool inTempSchema = false;
};

// Drops and builds every table of analyzer/schema/facts.sql from the raw tables and, outside the temp schema,
// sets meta.facts_version. One transaction: on failure the old facts stay. Missing data is no failure (rows
// carry `known`); a `stepRange` that is no regular expression is ErrorCode::usage.
Result<void> buildFacts(Db& db, const FactsOptions& options);

} // namespace gd::facts
