// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/chunk_source.h"
#include "analyzer/import/issue_list.h"
#include "analyzer/import/raw_process.h"
#include "analyzer/import/record_walk.h"

#include <string>

namespace gd::importer {

// Puts the records of chunks into a RawProcess. A record that was seen before (a chunk that lies in the
// segment and in the ring) is left out.
class RecordDecoder {
public:
    RecordDecoder(RawProcess& process, IssueList& issues)
        : m_process(process)
        , m_issues(issues) { }

    // `fileName` is for issues.
    void addChunk(const Chunk& chunk, const std::string& fileName);

private:
    void addHistory(const RecordView& record);
    void addProcessRecord(const RecordView& record);
    void addGraphRecord(const RecordView& record);
    void addString(const RecordView& record);
    void addStack(const RecordView& record);
    void addScalars(const RecordView& record);
    void addEvent(const RecordView& record, raw::ThreadRef thread);
    void noteTime(std::int64_t timeNs);

    RawProcess& m_process;
    IssueList& m_issues;
};

} // namespace gd::importer
