// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// Which rule names the cause when several fire on one capture, exec, communicator, step or process:
// rules/precedence.txt.
//
//     [capture]
//     GD108 if abandoned_first     only findings whose column abandoned_first is true
//     GD109
//     GD108
//
// Earlier lines win. A rule without a line stands just above its parent, and below every line when it has
// none.
class Precedence {
public:
    static Result<Precedence> parse(std::string_view text, const std::string& path);
    static Result<Precedence> load(const std::string& path);

    void append(const Precedence& later);
    // Place of a finding in its group, 0 first.
    std::size_t place(const Finding& finding) const;
    std::vector<std::string> ids(RootKind kind) const;

private:
    struct Entry {
        std::string rule;
        std::string condition; // column, or empty
    };
    std::size_t lineOf(RootKind kind, const std::string& rule, const Finding& finding) const;

    std::array<std::vector<Entry>, 6> m_lists; // by RootKind
};

// Makes one finding of everything that hangs on one cause: groups findings of one process with equal
// (rootKind, rootId), keeps the one with the first place as head, and puts the rest into its `folded`, in
// order of place. A finding without a root is its own group. No finding is lost and none appears twice.
std::vector<Finding> foldByRoot(std::vector<Finding> findings, const Precedence& precedence);

// Makes one finding of the same finding on several ranks: equal rule, function of the first location, graph
// signature and merge key (where neither function nor signature is known: equal message). Within a process
// nothing is merged: the n-th of a process goes with the n-th of the others. The first in report order stays;
// its cost is the largest.
std::vector<Finding> mergeRanks(std::vector<Finding> findings);

// Both of these, then report order.
std::vector<Finding> foldMergeAndSort(std::vector<Finding> findings, const Precedence& precedence);

} // namespace gd::rules
