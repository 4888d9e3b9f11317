// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/model.h"
#include "analyzer/rules/rule_set.h"
#include "analyzer/store/trace.h"
#include "gui/model/details.h"
#include "gui/model/flow.h"
#include "gui/model/graph_drawing.h"
#include "gui/model/load_tracks.h"
#include "gui/model/mailbox.h"
#include "gui/model/moved.h"
#include "gui/model/name_table.h"
#include "gui/model/ranks_model.h"
#include "gui/model/workers.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gd::gui {

// Which categories occur, by their numbers.
using ShownCategories = std::bitset<kCategories>;

// What the analyzer says of a trace, with the times of the rows that it names and the rules' files as texts.
struct Judgement {
    report::Report report;
    RowTimes evidence;
    std::map<std::string, std::string> rulePages; // by id
};
using ReportPtr = std::shared_ptr<const Judgement>;

// Folder with the rules of this installation.
std::string installedRules();

// One open trace. Everything that touches the file runs in one worker thread, in order: opening (a spool is
// imported into a cache folder first, facts of another version are rebuilt in memory), rows, findings by the
// analyzer's rules, details on demand. Results arrive as signals in the thread of this object. Destroying it
// stops a load within milliseconds.
class TraceSession : public QObject {
    Q_OBJECT
public:
    explicit TraceSession(QObject* parent = nullptr);
    ~TraceSession() override;

    // Folder with the rules; default: that of this installation.
    void setRulesFolder(const std::string& folder) { m_rulesFolder = folder; }
    // Without them only rows and details are there. Default: with.
    void setFindings(bool wanted) { m_findings = wanted; }
    // Once per session.
    void open(const QString& path) { openJob({path}); }
    // Traces of several hosts or ranks of one job, shown as one; what they leave open is told by remarked().
    void openJob(const QStringList& paths);
    // Answered by detailsReady() and flowReady() with the same key, unless another was asked for meanwhile.
    void requestDetails(const EventKey& event);

    // Bytes moved in an area; answered by movedReady(), unless another was asked for meanwhile.
    void requestMoved(std::int64_t fromNs, std::int64_t toNs);

    // Answered by graphReady() or graphRefused().
    void requestGraph(const EventKey& event);
    // The event of a node nearest to a time; answered by nodeFound(), with kernel -1 when none was recorded.
    void requestNode(const std::shared_ptr<const GraphDrawing>& graph, std::size_t node, std::int64_t nearNs);

    // One step of all ranks; answered by ranksReady() or ranksRefused(), unless another was asked for
    // meanwhile.
    void requestRanks(qint64 step);

    std::shared_ptr<const NameTable> names() const { return m_names; }

signals:
    void importing(int percent); // a spool, before it can be opened
    void opened(const gd::gui::TraceInfo& info);
    void rowLoaded(const gd::gui::RowPtr& row);
    void tracksLoaded(const gd::gui::ShownCategories& shown); // no more rows
    void reportReady(const gd::gui::ReportPtr& report);
    // Steps that several ranks have, ascending; without any `reason` says why.
    void stepsToCompare(const std::vector<qint64>& steps, const QString& reason);
    void remarked(const QString& sentence); // what is doubtful, while nothing is missing
    void noted(const QString& sentence); // what could not be shown, while the rest goes on
    void failed(const QString& sentence); // nothing more follows but finished()
    void finished(); // everything that open() starts is done
    void movedReady(qint64 fromNs, qint64 toNs, const gd::gui::MovedBytes& bytes);
    void graphReady(const std::shared_ptr<const gd::gui::GraphDrawing>& graph);
    void graphRefused(const QString& sentence);
    void nodeFound(qint64 kernel, qint64 startNs);
    void ranksReady(const gd::gui::StepPtr& step);
    void ranksRefused(const QString& sentence);
    void detailsReady(const gd::gui::EventKey& event, const std::vector<gd::gui::DetailRow>& rows);
    void flowReady(const gd::gui::EventKey& event, const gd::gui::Flow& flow); // follows detailsReady()

private:
    struct Work; // belongs to the worker thread
    void load(const std::vector<std::string>& paths);
    Result<std::string> fileOf(const std::string& path);
    Result<std::string> joined(const std::vector<std::string>& files);
    Result<TraceInfo> openTraces(const std::vector<std::string>& paths);
    void listSteps(Db& db);
    void refuse(const Error& error);
    void judge(const std::string& path);
    // Runs `f` in the thread of this object, unless that is being destroyed.
    template <class F> void post(F&& f);

    std::string m_rulesFolder;
    bool m_findings = true;
    std::shared_ptr<NameTable> m_names;
    std::unique_ptr<Work> m_work;
    std::atomic<bool> m_stop = false;
    std::atomic<std::uint64_t> m_ranksRequest = 0, m_detailsRequest = 0, m_movedRequest = 0; // the newest
    Mailbox m_mail;
    Workers m_thread{1};
};

} // namespace gd::gui
