// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/importer.h"
#include "analyzer/store/readers.h"
#include "analyzer/store/trace.h"
#include "tests/support/spool_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gd::test {

/// A folder of its own for each test, removed afterwards, and short ways to import and to ask.
class ImportFixture : public testing::Test {
protected:
    void SetUp() override {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        m_root = std::filesystem::temp_directory_path()
            / (std::string("gd-import-") + info->test_suite_name() + "-" + info->name() + "-"
                + std::to_string(::getpid()));
        std::filesystem::remove_all(m_root);
        std::filesystem::create_directories(m_root / "spool");
    }
    void TearDown() override { std::filesystem::remove_all(m_root); }

    std::filesystem::path spool() const { return m_root / "spool"; }
    std::filesystem::path out() const { return m_root / "out.gdt"; }

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
    std::filesystem::path m_root;
};

} // namespace gd::test
