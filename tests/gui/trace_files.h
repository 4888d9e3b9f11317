// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/temporary_folder.h"

#include <QString>

#include <string>

namespace gd::test {

// Traces of tests/fixtures as files of their own.
class TraceFiles {
public:
    // An unpacked trace, such as "h200-trace-healthy"; a spool, such as "h200-item-deep", is imported first.
    QString fixture(const std::string& name);
    // A copy of such a spool, not imported: its folder.
    QString spool(const std::string& name);
    // An empty trace (raw tables, one process, nothing else) that SQL can fill, the facts by SQL of their
    // own.
    QString made(const std::string& sql, const std::string& factsSql = {});
    std::string path(const std::string& name) const { return (m_folder.path() / name).string(); }

private:
    TemporaryFolder m_folder;
    int m_made = 0;
};

} // namespace gd::test
