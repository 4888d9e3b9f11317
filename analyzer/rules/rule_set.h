// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/folding.h"
#include "analyzer/rules/frames.h"
#include "analyzer/rules/rule_file.h"

#include <span>
#include <string>
#include <vector>

namespace gd::rules {

// What folders of rules give; one broken file does not hide the others.
struct RuleSet {
    std::vector<RuleFile> rules; // sorted by id
    Precedence precedence;
    FrameFilter frames;
    std::vector<Error> broken; // files that could not be used, one clear sentence each
};

// Reads every <group>/<id>-<slug>.sql and <id>-<slug>.sql below the folders, and precedence.txt and
// frames.txt in them, in the order of the folders; a path may also be one rule file. An id that came before
// is an entry of `broken`. Fails when a folder or file does not exist or cannot be read.
Result<RuleSet> loadRules(std::span<const std::string> paths);

// rules/README.md: what the rules find, their parameters and where each file lies, sorted by group and id.
std::string catalogueMarkdown(std::span<const RuleFile> rules);

} // namespace gd::rules
