// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/report/model.h"
#include "analyzer/rules/rule_set.h"
#include "analyzer/store/trace.h"

#include <string>
#include <vector>

namespace gd::report {

// Opens a trace for reading; facts of another version are built into the connection.
Result<store::Trace> openTrace(const std::string& path);

// Runs these rules over an open trace: everything a report says. `params` are texts "GD301.gap_us=200".
Result<Report> judge(store::Trace& trace, const std::string& path, const rules::RuleSet& set,
    const std::vector<std::string>& params, const Filter& filter);

} // namespace gd::report
