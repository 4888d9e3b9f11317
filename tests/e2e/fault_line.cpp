// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/fault_line.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace gd::test {

std::vector<SourceLine> printedFaultLines(const Workshop& shop, const std::string& trainerOutput) {
    static const std::regex kPlace("^fault \\S+: module=(\\S+) offset=(0x[0-9a-f]+) call=");
    std::vector<SourceLine> out;
    std::istringstream lines(trainerOutput);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, kPlace))
            continue;
        const ProgramEnd end = shop.run({"addr2line", "-e", match[1].str(), match[2].str()});
        EXPECT_EQ(end.status, 0) << end.err;
        // "path:123", or "path:123 (discriminator 2)"
        const std::string place = end.out.substr(0, end.out.find_first_of(" \n"));
        const std::size_t colon = place.rfind(':');
        EXPECT_NE(colon, std::string::npos) << end.out;
        if (colon != std::string::npos)
            out.push_back({std::filesystem::path(place.substr(0, colon)).lexically_normal().string(),
                std::atoi(place.c_str() + colon + 1)});
    }
    return out;
}

} // namespace gd::test
