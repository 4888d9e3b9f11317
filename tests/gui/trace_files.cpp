// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/trace_files.h"

#include "analyzer/facts/facts.h"
#include "analyzer/store/trace.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace gd::test {
namespace {

void command(const std::string& line) {
    if (std::system(line.c_str()) != 0)
        throw std::runtime_error("failed: " + line);
}

} // namespace

QString TraceFiles::fixture(const std::string& name) {
    const std::string out = path(name + ".gdt");
    const std::filesystem::path folder = std::filesystem::path(GD_FIXTURES) / name;
    if (std::filesystem::exists(folder / "trace.gdt.gz")) {
        command(fmt::format("gzip -dc '{}' > '{}'", (folder / "trace.gdt.gz").string(), out));
    } else {
        command(
            fmt::format("'{}' import '{}' -o '{}' 2>/dev/null", GD_PROGRAM, spool(name).toStdString(), out));
    }
    return QString::fromStdString(out);
}

QString TraceFiles::spool(const std::string& name) {
    const std::string out = path(name + ".spool");
    std::filesystem::copy(
        std::filesystem::path(GD_FIXTURES) / name / "spool", out, std::filesystem::copy_options::recursive);
    return QString::fromStdString(out);
}

QString TraceFiles::made(const std::string& sql, const std::string& factsSql) {
    const std::string out = path(fmt::format("made{}.gdt", m_made++));
    auto trace = store::NewTrace::create(out, false).value();
    trace.db()
        .exec("INSERT OR REPLACE INTO meta VALUES ('format', 'graphdoctor.trace/1'), ('start_unix_ns', '0');"
              "INSERT INTO process (process_id, pid, role, start_ns, end_ns, ended) "
              "VALUES (1, 100, 'primary', 0, 1000000, 'closed');"
            + sql)
        .value();
    store::FactsBuilder facts;
    facts.version = facts::kFactsVersion;
    facts.build = [&factsSql](Db& db) { return db.exec(factsSql); };
    trace.buildFacts(facts).value();
    trace.finish().value();
    return QString::fromStdString(out);
}

} // namespace gd::test
