// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"

#include <string>
#include <vector>

namespace gd::test {

// A report in which every text of the job or of a rule is `text`, and every optional part is there: two
// processes, an error with a folded finding, a warning without places, a clean, a fired, a broken and an
// unevaluated rule.
report::Report sampleReport(const std::string& text);

// What a hostile job can put into kernel names, ranges, paths and command lines.
std::vector<std::string> hostileTexts();

} // namespace gd::test
