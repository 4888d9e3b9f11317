// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/e2e/program.h"

#include <string>
#include <vector>

namespace gd::test {

// A source line as addr2line gives it, independent of our own symbolizer.
struct SourceLine {
    std::string file;
    int line = 0;
};

// What the trainer prints about its armed faults ("fault ID: module=PATH offset=0x… call=…"), each place
// looked up with addr2line.
std::vector<SourceLine> printedFaultLines(const Workshop& shop, const std::string& trainerOutput);

} // namespace gd::test
