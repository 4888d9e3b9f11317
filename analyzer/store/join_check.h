// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/store/readers.h"
#include "analyzer/store/trace.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gd::store {

// What a trace says of the job it belongs to.
struct JoinPart {
    std::filesystem::path path;
    std::map<std::string, std::string> meta;
    std::vector<ProcessRow> processes;
    std::set<std::int64_t> communicators; // hashes of those with several ranks
    std::set<std::string> jobs; // numbers that the launcher gave
    std::int64_t startUnixNs = 0;
    std::int64_t endNs = 0; // since its start
};
Result<JoinPart> readJoinPart(Trace& trace);

struct JoinNote {
    std::string severity, code, sentence;
};
// Whether traces are parts of one job (see joinTraces), and what they leave open.
Result<std::vector<JoinNote>> checkJoin(const std::vector<JoinPart>& parts);

} // namespace gd::store
