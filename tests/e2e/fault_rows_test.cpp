// SPDX-License-Identifier: Apache-2.0
// Every fault of the trainer at two places: its trace holds what fault_rows.sql says, that of the same run
// without the fault, and of its harmless form, does not. Faults after which processes wait for each other end
// by themselves.
#include "tests/e2e/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

using namespace gd::test;

namespace {

struct Row {
    std::string fault;
    std::vector<std::string> places;
    std::vector<std::string> options;
    int ends = 0;
    std::string query;
};

// What a failing test prints.
void PrintTo(const Row& row, std::ostream* out) {
    *out << row.fault;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);)
        out.push_back(trimmed(part));
    if (!text.empty() && text.back() == separator)
        out.emplace_back();
    return out;
}

// The value of a line "-- key: value", false for other lines.
bool valueOf(const std::string& line, const std::string& key, std::string& value) {
    const std::string start = "-- " + key + ":";
    if (!line.starts_with(start))
        return false;
    value = trimmed(line.substr(start.size()));
    return true;
}

std::vector<Row> readRows() {
    std::vector<Row> rows;
    std::ifstream file(GD_FAULT_ROWS);
    std::string value;
    for (std::string line; std::getline(file, line);) {
        if (valueOf(line, "fault", value)) {
            rows.push_back({value, {}, {}, 0, {}});
        } else if (rows.empty()) {
            continue;
        } else if (valueOf(line, "places", value)) {
            rows.back().places = split(value, '|');
        } else if (valueOf(line, "options", value)) {
            rows.back().options = split(value, ' ');
        } else if (valueOf(line, "ends", value)) {
            rows.back().ends = std::stoi(value);
        } else if (!line.starts_with("--")) {
            rows.back().query += line + "\n";
        }
    }
    for (Row& row : rows)
        row.query = row.query.substr(0, row.query.rfind(';'));
    return rows;
}

std::string rowName(const testing::TestParamInfo<Row>& info) {
    std::string name = info.param.fault;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

class FaultRow : public testing::TestWithParam<Row> {
protected:
    static ProgramEnd record(const Workshop& where, const std::string& fault) {
        std::vector<std::string> arguments = {"--quiet", "--layers", "2", "--hidden", "16", "--heads", "2",
            "--seq-len", "16", "--micro-batch-size", "1", "--micro-batches", "2", "--steps", "30",
            "--corpus-tokens", "4096"};
        const Row& row = GetParam();
        arguments.insert(arguments.end(), row.options.begin(), row.options.end());
        if (row.options.empty() && fault.find("@rank=") != std::string::npos)
            arguments.insert(arguments.end(), {"--dp", "2"});
        if (!fault.empty())
            arguments.insert(arguments.end(), {"--fault", fault});
        return where.run(recordTrainer({"-o", where.file("x.gdt"), "--force", "--no-report"}, arguments));
    }
    static int observed(const Workshop& where) {
        const ProgramEnd end
            = where.run(graphdoctor({"query", where.file("x.gdt"), GetParam().query, "--format", "json"}));
        EXPECT_EQ(end.status, 0) << end.err;
        const auto rows = nlohmann::json::parse(end.out, nullptr, false);
        return rows.is_array() && !rows.empty() ? rows[0].begin()->get<int>() : -1;
    }
    Workshop shop;
};

TEST(FaultRows, EveryFaultHasOne) {
    const Workshop shop;
    const ProgramEnd end
        = shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--no-report"}, {"--list-faults", "--json"}));
    ASSERT_EQ(end.status, 0) << end.err;
    std::set<std::string> listed;
    for (const auto& fault : nlohmann::json::parse(end.out))
        listed.insert(fault["id"]);
    std::set<std::string> rows;
    for (const Row& row : readRows())
        rows.insert(row.fault);
    EXPECT_EQ(rows, listed);
}

TEST_P(FaultRow, TheTraceHoldsWhatItNames) {
    const Row& row = GetParam();
    ASSERT_FALSE(row.places.empty());
    for (const std::string& place : row.places) {
        const ProgramEnd end = record(shop, row.fault + place);
        EXPECT_EQ(end.status, row.ends) << row.fault << place << "\n" << end.err;
        EXPECT_GT(observed(shop), 0) << row.fault << place << "\n" << end.err;
        EXPECT_EQ(end.err.find("did not come within"), std::string::npos)
            << "ended by a time-out: " << end.err;
    }
}

TEST_P(FaultRow, TheHarmlessRunDoesNot) {
    const ProgramEnd end = record(shop, GetParam().fault + "@harmless");
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(observed(shop), 0) << end.err;
}

// One clean run for all rows with the same options.
TEST_P(FaultRow, TheCleanTwinDoesNot) {
    static std::map<std::vector<std::string>, Workshop> twins;
    const auto [twin, isNew] = twins.try_emplace(GetParam().options);
    if (isNew) {
        const ProgramEnd end = record(twin->second, "");
        EXPECT_EQ(end.status, 0) << end.err;
    }
    EXPECT_EQ(observed(twin->second), 0);
}

INSTANTIATE_TEST_SUITE_P(All, FaultRow, testing::ValuesIn(readRows()), rowName);

} // namespace
