// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/rules/rule_file.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// Reads one rule file line by line: header sections, then the query, then inline tests. Used once.
class RuleParser {
public:
    RuleParser(std::string text, const std::string& path);
    Result<RuleFile> run();

private:
    enum class Part { header, query, testSql, testExpect };
    struct Section {
        std::string word; // "title", or "param gap_us"
        std::string value;
        int line = 0;
    };

    Result<void> readLine(std::string_view line);
    Result<void> readHeaderLine(std::string_view line);
    Result<void> readBodyLine(std::string_view line);
    Result<void> closeSection(); // uses what was gathered in m_section
    Result<void> useRule(const Section& section);
    Result<void> useNeeds(const Section& section);
    Result<void> useParam(const Section& section);
    Result<void> useMessage(const Section& section);
    Result<void> useExpect(const Section& section);
    Result<void> useWord(const Section& section); // the words of a fixed list
    Result<void> checkWhole();
    Result<void> checkParams() const;
    Error at(int line, std::string message) const;

    RuleFile m_rule;
    Part m_part = Part::header;
    int m_line = 0;
    std::optional<Section> m_section;
    std::set<std::string> m_seen;
    bool m_expectsNone = false; // of the current test
};

} // namespace gd::rules
