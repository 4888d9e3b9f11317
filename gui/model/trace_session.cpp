// SPDX-License-Identifier: Apache-2.0
#include "gui/model/trace_session.h"

#include "analyzer/report/judge.h"
#include "analyzer/store/join.h"
#include "gui/model/spool_cache.h"

#include <QTemporaryDir>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace gd::gui {
namespace {

constexpr std::chrono::seconds kFlowLimit{2};
constexpr std::chrono::seconds kMovedLimit{5};

void addCategories(const TrackRow& row, const NameTable& names, ShownCategories& shown) {
    if (row.curve)
        shown.set(static_cast<std::size_t>(Category::memory));
    for (const auto& lane : row.lanes) {
        for (std::size_t i = 0; i < lane->size(); ++i)
            shown.set(static_cast<std::size_t>(names[lane->name(i)].category));
    }
}

} // namespace

struct TraceSession::Work {
    std::unique_ptr<QTemporaryDir> joined; // holds the trace that was made of several
    std::optional<store::Trace> trace;
    std::optional<rules::RuleSet> rules;
    std::optional<rules::LocationFinder> locations;
    std::shared_ptr<const report::CommMatches> matches;
};

template <class F> void TraceSession::post(F&& f) {
    if (!m_stop)
        m_mail.post(std::forward<F>(f));
}

std::string installedRules() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return (program.parent_path().parent_path() / "share" / "graphdoctor" / "rules").string();
}

TraceSession::TraceSession(QObject* parent)
    : QObject(parent)
    , m_rulesFolder(installedRules())
    , m_names(std::make_shared<NameTable>())
    , m_work(std::make_unique<Work>()) { }

TraceSession::~TraceSession() {
    m_stop = true;
    m_thread.clear();
    m_thread.waitForDone();
}

void TraceSession::openJob(const QStringList& paths) {
    std::vector<std::string> names;
    for (const QString& path : paths)
        names.push_back(path.toStdString());
    m_thread.start([this, names = std::move(names)] { load(names); });
}

void TraceSession::refuse(const Error& error) {
    post([this, message = QString::fromStdString(error.message)] {
        emit failed(message);
        emit finished();
    });
}

// A spool is imported into the cache first.
Result<std::string> TraceSession::fileOf(const std::string& path) {
    if (!isSpool(path))
        return path;
    const auto progress = [this, last = -1](std::uint64_t done, std::uint64_t total) mutable {
        const int percent = total == 0 ? 0 : static_cast<int>(done * 100 / total);
        if (percent != std::exchange(last, percent))
            post([this, percent] { emit importing(percent); });
    };
    return traceOfSpool(path, progress, m_stop);
}

// One file of the traces of a job.
Result<std::string> TraceSession::joined(const std::vector<std::string>& files) {
    m_work->joined = std::make_unique<QTemporaryDir>();
    if (!m_work->joined->isValid())
        return fail(ErrorCode::io, "a folder to join the traces in cannot be made: {}",
            m_work->joined->errorString().toStdString());
    store::JoinOptions options;
    options.stop = &m_stop;
    std::string out = m_work->joined->filePath(QStringLiteral("job.gdt")).toStdString();
    const std::vector<std::filesystem::path> parts(files.begin(), files.end());
    GD_TRY_ASSIGN(const auto summary, store::joinTraces(parts, out, options));
    for (const std::string& note : summary.notes)
        post([this, text = QString::fromStdString(note)] { emit remarked(text); });
    return out;
}

Result<TraceInfo> TraceSession::openTraces(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        GD_TRY_ASSIGN(files.emplace_back(), fileOf(path));
    }
    std::string file = files.front();
    if (files.size() > 1) {
        GD_TRY_ASSIGN(file, joined(files));
    }
    GD_TRY_ASSIGN(auto trace, report::openTrace(file));
    m_work->trace.emplace(std::move(trace));
    if (std::any_of(paths.begin(), paths.end(), isSpool))
        dropOldTraces(paths.size());
    return readTraceInfo(m_work->trace->db(), paths.front());
}

void TraceSession::load(const std::vector<std::string>& paths) {
    const std::string& path = paths.front();
    const auto info = openTraces(paths);
    if (!info)
        return refuse(info.error());
    Db& db = m_work->trace->db();
    post([this, copy = *info] { emit opened(copy); });
    ShownCategories shown;
    const auto deliver = [this, &shown](RowPtr row) {
        addCategories(*row, *m_names, shown);
        post([this, row = std::move(row)] { emit rowLoaded(row); });
    };
    TrackLoad tracks{db, *info, *m_names, deliver, m_stop, m_work->trace->path().string(), {}, {}, {}};
    loadTracks(tracks);
    m_work->matches = tracks.matches;
    for (const std::string& note : tracks.notes)
        post([this, text = QString::fromStdString(note)] { emit noted(text); });
    for (const std::string& remark : tracks.remarks)
        post([this, text = QString::fromStdString(remark)] { emit remarked(text); });
    post([this, shown] { emit tracksLoaded(shown); });
    listSteps(db);
    if (!m_stop && m_findings)
        judge(path);
    post([this] { emit finished(); });
}

void TraceSession::listSteps(Db& db) {
    const auto steps = report::comparableSteps(db);
    std::vector<qint64> numbers;
    QString reason
        = tr("There is no step that two ranks of this trace have. graphdoctor view A.gdt B.gdt opens the "
             "traces of several ranks as one job.");
    if (steps)
        numbers.assign(steps->begin(), steps->end());
    else
        reason = QString::fromStdString(steps.error().message);
    post([this, numbers, reason] { emit stepsToCompare(numbers, reason); });
}

void TraceSession::requestRanks(qint64 step) {
    m_thread.start([this, step, request = ++m_ranksRequest] {
        if (m_stop || !m_work->trace || request != m_ranksRequest)
            return;
        auto compared = report::compareRanks(m_work->trace->db(), step);
        if (!compared) {
            post([this, request, text = QString::fromStdString(compared.error().message)] {
                if (request == m_ranksRequest)
                    emit ranksRefused(text);
            });
            return;
        }
        post([this, request,
                 shared = std::make_shared<const report::StepComparison>(std::move(compared).value())] {
            if (request == m_ranksRequest)
                emit ranksReady(shared);
        });
    });
}

void TraceSession::judge(const std::string& path) {
    auto set = rules::loadRules(std::vector<std::string>{m_rulesFolder});
    if (!set) {
        post([this, text = QString::fromStdString(set.error().message)] {
            emit noted(tr("Findings are not shown: %1").arg(text));
        });
        return;
    }
    m_work->rules.emplace(std::move(set).value());
    auto report = report::judge(*m_work->trace, path, *m_work->rules, {}, {});
    if (auto finder = rules::LocationFinder::open(m_work->trace->db(), m_work->rules->frames))
        m_work->locations.emplace(std::move(finder).value());
    if (!report) {
        post([this, text = QString::fromStdString(report.error().message)] {
            emit noted(tr("Findings are not shown: %1").arg(text));
        });
        return;
    }
    auto judged = std::make_shared<Judgement>();
    judged->report = std::move(report).value();
    judged->evidence = evidenceTimes(m_work->trace->db(), judged->report.findings);
    for (const rules::RuleFile& rule : m_work->rules->rules)
        judged->rulePages[rule.id] = rule.text;
    post([this, shared = ReportPtr(std::move(judged))] { emit reportReady(shared); });
}

// What was asked for before another event is nobody's question any more: arrow keys held down ask for dozens.
void TraceSession::requestDetails(const EventKey& event) {
    const std::uint64_t request = ++m_detailsRequest;
    const auto isWanted = [this, request] { return !m_stop && m_work->trace && request == m_detailsRequest; };
    m_thread.start([this, event, isWanted] {
        if (!isWanted())
            return;
        const TrackRow::Place place = event.row->place(event.in().row(event.index));
        auto rows
            = eventDetails(m_work->trace->db(), place, m_work->locations ? &*m_work->locations : nullptr);
        std::vector<DetailRow> out;
        if (rows)
            out = std::move(rows).value();
        else
            out.push_back({"not shown", rows.error().message, {}, 0, -1, -1, {}});
        post([this, event, out = std::move(out)] { emit detailsReady(event, out); });
    });
    m_thread.start([this, event, isWanted] {
        if (!isWanted())
            return;
        // A flow that takes longer than a look is worth is left out: it is no loss of data.
        const TrackRow::Place place = event.row->place(event.in().row(event.index));
        const base::TimeLimitScope limit(m_work->trace->db(), kFlowLimit);
        auto flow = readFlow(m_work->trace->db(), place, m_work->matches.get());
        Flow links;
        if (flow)
            links = std::move(flow).value();
        else
            links.notes.push_back(flow.error().message);
        post([this, event, links = std::move(links)] { emit flowReady(event, links); });
    });
}

void TraceSession::requestMoved(std::int64_t fromNs, std::int64_t toNs) {
    m_thread.start([this, fromNs, toNs, request = ++m_movedRequest] {
        if (m_stop || !m_work->trace || request != m_movedRequest)
            return;
        const base::TimeLimitScope limit(m_work->trace->db(), kMovedLimit);
        auto bytes = movedBytes(m_work->trace->db(), fromNs, toNs);
        if (bytes) // else they are not shown
            post([this, fromNs, toNs, moved = std::move(bytes).value()] {
                emit movedReady(fromNs, toNs, moved);
            });
    });
}

void TraceSession::requestGraph(const EventKey& event) {
    m_thread.start([this, event] {
        if (m_stop || !m_work->trace)
            return;
        const TrackRow::Place place = event.row->place(event.in().row(event.index));
        auto graph = readGraphOf(m_work->trace->db(), place.table, place.rowId);
        if (!graph) {
            post([this, text = QString::fromStdString(graph.error().message)] { emit graphRefused(text); });
            return;
        }
        post([this, shared = std::make_shared<const GraphDrawing>(std::move(graph).value())] {
            emit graphReady(shared);
        });
    });
}

void TraceSession::requestNode(
    const std::shared_ptr<const GraphDrawing>& graph, std::size_t node, std::int64_t nearNs) {
    m_thread.start([this, graph, node, nearNs] {
        if (m_stop || !m_work->trace)
            return;
        const auto kernel = kernelOfNode(m_work->trace->db(), *graph, node, nearNs);
        const bool found = kernel && *kernel;
        post([this, id = found ? (*kernel)->first : -1, start = found ? (*kernel)->second : 0] {
            emit nodeFound(id, start);
        });
    });
}

} // namespace gd::gui
