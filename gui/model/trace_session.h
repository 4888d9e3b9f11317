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
#include "gui/model/name_table.h"
#include "gui/model/workers.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gd::gui {

// What the analyzer says of a trace, with the times of the rows that it names.
struct Judgement {
    report::Report report;
    RowTimes evidence;
};
using ReportPtr = std::shared_ptr<const Judgement>;

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
    // Once per session.
    void open(const QString& path);
    // Answered by detailsReady() and flowReady() with the same key.
    void requestDetails(const EventKey& event);

    // Answered by graphReady() or graphRefused().
    void requestGraph(const EventKey& event);
    // The event of a node nearest to a time; answered by nodeFound(), with kernel -1 when none was recorded.
    void requestNode(const std::shared_ptr<const GraphDrawing>& graph, std::size_t node, std::int64_t nearNs);

    std::shared_ptr<const NameTable> names() const { return m_names; }

signals:
    void importing(int percent); // a spool, before it can be opened
    void opened(const gd::gui::TraceInfo& info);
    void rowLoaded(const gd::gui::RowPtr& row);
    void tracksLoaded(); // no more rows
    void reportReady(const gd::gui::ReportPtr& report);
    void noted(const QString& sentence); // what could not be shown, while the rest goes on
    void failed(const QString& sentence); // nothing more follows but finished()
    void finished(); // everything that open() starts is done
    void graphReady(const std::shared_ptr<const gd::gui::GraphDrawing>& graph);
    void graphRefused(const QString& sentence);
    void nodeFound(qint64 kernel, qint64 startNs);
    void detailsReady(const gd::gui::EventKey& event, const std::vector<gd::gui::DetailRow>& rows);
    void flowReady(const gd::gui::EventKey& event, const gd::gui::Flow& flow); // follows detailsReady()

private:
    struct Work; // belongs to the worker thread
    void load(const std::string& path);
    Result<TraceInfo> openTrace(const std::string& path); // a spool's or a trace's
    void judge(const std::string& path);
    // Runs `f` in the thread of this object, unless that is being destroyed.
    template <class F> void post(F&& f);

    std::string m_rulesFolder;
    std::shared_ptr<NameTable> m_names;
    std::unique_ptr<Work> m_work;
    std::atomic<bool> m_stop = false;
    Mailbox m_mail;
    Workers m_thread{1};
};

} // namespace gd::gui
