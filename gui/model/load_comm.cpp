// SPDX-License-Identifier: Apache-2.0
#include "gui/model/load_comm.h"

#include "analyzer/base/short_list.h"
#include "analyzer/base/statement.h"
#include "analyzer/report/comm/link.h"
#include "gui/model/words.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace gd::gui {

Result<std::vector<Draft>> CommLoader::readKernels() {
    GD_TRY(match());
    std::map<std::int64_t, Draft> drafts; // by process
    std::set<std::int64_t> matched;
    const auto& kernels = m_load.matches->kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const report::CommKernel& kernel = kernels[i];
        const auto [at, isNew] = drafts.try_emplace(kernel.process);
        Draft& draft = at->second;
        if (isNew) {
            m_onDevice.insert(kernel.process);
            draft.row.kind = RowKind::comm;
            draft.row.process = kernel.process;
            draft.slice("kernel", 0);
        }
        draft.add(0, kernel.rowId, kernel.startNs, kernel.endNs, static_cast<std::uint32_t>(kernel.name));
        if (m_load.matches->waitsUntilNs(i) >= 0)
            matched.insert(kernel.process);
    }
    std::vector<Draft> out;
    for (auto& [process, draft] : drafts) {
        draft.row.matches = m_load.matches;
        draft.row.title
            = Words::fill(matched.contains(process) ? Words::tr("Communication")
                                                    : Words::tr("Communication: waits not known"));
        out.push_back(std::move(draft));
    }
    return out;
}

Result<void> CommLoader::match() {
    std::sort(
        m_kernels.begin(), m_kernels.end(), [](const report::CommKernel& a, const report::CommKernel& b) {
            return std::tie(a.process, a.startNs) < std::tie(b.process, b.startNs);
        });
    report::CommCalls calls;
    for (auto from = m_kernels.begin(); from != m_kernels.end() && !m_load.stop;) {
        const auto to = std::find_if(from, m_kernels.end(),
            [&](const report::CommKernel& kernel) { return kernel.process != from->process; });
        const Result<void> linked = report::linkCommunication(m_load.db, std::span(from, to), calls,
            std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
        if (!linked) // they are matched by time alone
            m_load.notes.push_back(Words::fill(
                Words::tr("which calls communication kernels run is not known: %1"), linked.error().message));
        from = to;
    }
    GD_TRY_ASSIGN(const auto communicators, report::readCommunicators(m_load.db));
    m_load.matches
        = std::make_shared<const report::CommMatches>(std::move(m_kernels), std::move(calls), communicators);
    return {};
}

// One row a process: most communicators have a call now and then, so that a row each would be empty rows.
// Each has lanes of its own in it.
Result<std::vector<Draft>> CommLoader::readCalls() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
    std::map<std::int64_t, std::size_t> counts; // by process
    GD_TRY(eachRow(m_load.db,
        "SELECT o.process_id, o.comm_hash, (SELECT c.nranks FROM nccl_comm AS c "
        "WHERE c.process_id = o.process_id AND c.comm_hash = o.comm_hash LIMIT 1) "
        "FROM nccl_op AS o GROUP BY o.process_id, o.comm_hash",
        m_load.stop, [&](const Statement& r) {
            const auto hash = fmt::format("{:08x}", static_cast<std::uint64_t>(r.int64(1)) >> 32);
            names[{r.int64(0), r.int64(1)}]
                = r.isNull(2) ? hash : Words::fill(Words::tr("%1, %2 ranks"), hash, r.int64(2));
            ++counts[r.int64(0)];
        }));
    std::map<std::int64_t, Draft> drafts;
    GD_TRY(eachRow(m_load.db, "SELECT rowid, process_id, comm_hash, time_ns, kind FROM nccl_op", m_load.stop,
        [&](const Statement& r) {
            const std::int64_t process = r.int64(1);
            const std::string& communicator = names[{process, r.int64(2)}];
            const auto [at, isNew] = drafts.try_emplace(process);
            Draft& draft = at->second;
            if (isNew) {
                m_withCalls.insert(process);
                draft.row.kind = RowKind::commCall;
                draft.row.process = process;
                draft.row.title = callsTitle(process, counts[process], communicator);
                draft.slice("nccl_op", 0);
            }
            const std::string kind(r.text(4));
            const std::string name = counts[process] == 1 ? kind : fmt::format("{} · {}", kind, communicator);
            draft.addTo(draft.groups[r.int64(2)], 0, r.int64(0), r.int64(3), r.int64(3),
                m_load.names.intern(name, Category::comm));
        }));
    std::vector<Draft> out;
    for (auto& [process, draft] : drafts)
        out.push_back(std::move(draft));
    return out;
}

std::string CommLoader::callsTitle(
    std::int64_t process, std::size_t communicators, const std::string& first) const {
    const bool isOnDevice = m_onDevice.contains(process); // else only the times of the calls are known
    if (communicators == 1)
        return Words::fill(isOnDevice ? Words::tr("NCCL calls %1") : Words::tr("NCCL call times %1"), first);
    return Words::fill(isOnDevice ? Words::tr("NCCL calls, %1 communicators")
                                  : Words::tr("NCCL call times, %1 communicators"),
        communicators);
}

Result<void> CommLoader::remark() {
    GD_TRY_ASSIGN(const auto told, m_load.db.queryInt64("SELECT max(world_size) FROM process"));
    const std::int64_t world = told.value_or(1);
    if (m_withCalls.empty() && !m_onDevice.empty())
        m_load.remarks.push_back(Words::fill(
            Words::tr("no NCCL data: kernels of NCCL were recorded, but not its calls, so that they are "
                      "matched by their times alone; graphdoctor run loads its profiler plugin and follows "
                      "its ranges where nothing else uses them, and graphdoctor env tells why not")));
    else if (m_withCalls.empty() && world > 1)
        m_load.remarks.push_back(
            Words::fill(Words::tr("no NCCL data: none of the %1 ranks' communication was recorded; run the "
                                  "job with graphdoctor run, which loads NCCL's profiler plugin"),
                world));
    return remarkMissingRanks(world);
}

// Joining several traces says so itself.
Result<void> CommLoader::remarkMissingRanks(std::int64_t world) {
    GD_TRY_ASSIGN(const auto known,
        m_load.db.queryInt64("SELECT count(*) FROM trace_issue WHERE code = 'rank_missing'"));
    std::set<std::int64_t> ranks;
    GD_TRY(eachRow(m_load.db,
        "SELECT DISTINCT rank FROM process WHERE rank IS NOT NULL AND parent_process_id IS NULL", m_load.stop,
        [&](const Statement& r) { ranks.insert(r.int64(0)); }));
    const std::int64_t missing = world - static_cast<std::int64_t>(ranks.size());
    if (ranks.empty() || missing <= 0 || known.value_or(0) > 0)
        return {};
    std::vector<std::int64_t> first;
    for (std::int64_t rank = 0; rank < world && first.size() < base::kShortList; ++rank) {
        if (!ranks.contains(rank))
            first.push_back(rank);
    }
    m_load.remarks.push_back(Words::fill(
        Words::tr("of the job's %1 ranks these are not in this trace: %2; who waits for them is not known "
                  "(graphdoctor view A.gdt B.gdt opens the traces of several hosts as one)"),
        world, base::shortList(first, static_cast<std::size_t>(missing))));
    return {};
}

} // namespace gd::gui
