// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace gd::test {

inline std::string fileText(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

// A trace of raw and fact tables in memory, filled by SQL.
struct MadeTrace {
    Db db = Db::openInMemory().value();

    MadeTrace() {
        const std::string folder = GD_SCHEMA_DIR;
        for (const char* file : {"/001_raw.sql", "/002_raw.sql", "/facts.sql"})
            sql(fileText(folder + file));
        sql("INSERT INTO meta VALUES ('level', 'full'), ('runtime_seen', '1'), ('command_line', 'train')");
    }
    void sql(const std::string& text) { db.exec(text).value(); }
    void process(std::int64_t id, std::optional<std::int64_t> rank, const std::string& host = "h") {
        sql(fmt::format("INSERT INTO process (process_id, pid, rank, role, host, start_ns, end_ns, ended) "
                        "VALUES ({0}, {0}, {1}, 'primary', '{2}', 0, 1000000, 'closed')",
            id, rank ? std::to_string(*rank) : "NULL", host));
    }
    // Steady steps one after the other from 1000 on, numbered from `first`; with `name` the numbers are in
    // the names instead.
    void steps(std::int64_t process, const std::vector<std::int64_t>& durations, std::int64_t first = 0,
        const char* name = nullptr) {
        std::int64_t at = 1000;
        for (std::size_t i = 0; i < durations.size(); ++i) {
            const auto number = static_cast<std::int64_t>(i);
            sql(fmt::format(
                "INSERT INTO step (process_id, step, start_ns, end_ns, method, kind, name, replays, "
                "captures) VALUES ({}, {}, {}, {}, 'known_range', 'steady', {}, 1, 0)",
                process, name == nullptr ? number + first : number, at, at + durations[i],
                name == nullptr ? std::string("NULL") : fmt::format("'{}{}'", name, number + first)));
            at += durations[i];
        }
        sql(fmt::format(
            "INSERT INTO steady_state VALUES ({}, 1000, {}, {}, 0, 100)", process, at, durations.size()));
    }
    report::Report report() { return report::readTrace(db, "x.gdt").value(); }
};

} // namespace gd::test
