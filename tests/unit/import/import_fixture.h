// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/importer.h"
#include "analyzer/store/readers.h"
#include "analyzer/store/trace.h"
#include "tests/support/spool_writer.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gd::test {

/// A folder of its own for each test, removed afterwards, and short ways to import and to ask.
class ImportFixture : public testing::Test {
protected:
    ImportFixture() { std::filesystem::create_directory(spool()); }

    std::filesystem::path spool() const { return m_root.path() / "spool"; }
    std::filesystem::path out() const { return m_root.path() / "out.gdt"; }

    Result<importer::ImportSummary> tryImport(importer::ImportOptions options = {}) {
        options.force = true;
        const std::vector<std::filesystem::path> folders{spool()};
        return importer::importSpools(folders, out(), options);
    }
    importer::ImportSummary import(importer::ImportOptions options = {}) {
        auto summary = tryImport(std::move(options));
        EXPECT_TRUE(summary.has_value()) << (summary ? "" : summary.error().message);
        return summary ? *summary : importer::ImportSummary{};
    }

    /// Every row of a query as "a|b|NULL".
    std::vector<std::string> rows(const std::string& sql) {
        std::vector<std::string> result;
        auto trace = store::Trace::open(out());
        EXPECT_TRUE(trace.has_value()) << (trace ? "" : trace.error().message);
        if (!trace)
            return result;
        auto statement = trace->db().prepare(sql);
        EXPECT_TRUE(statement.has_value()) << (statement ? "" : statement.error().message);
        while (statement) {
            const auto more = statement->step();
            EXPECT_TRUE(more.has_value()) << (more ? "" : more.error().message);
            if (!more || !*more)
                break;
            std::string line;
            for (int i = 0; i < statement->columnCount(); ++i) {
                line += i == 0 ? "" : "|";
                line += statement->isNull(i) ? "NULL" : std::string(statement->text(i));
            }
            result.push_back(line);
        }
        return result;
    }
    std::string one(const std::string& sql) {
        const auto all = rows(sql);
        EXPECT_EQ(all.size(), 1u) << sql;
        return all.empty() ? std::string() : all.front();
    }

private:
    TemporaryFolder m_root;
};

} // namespace gd::test
