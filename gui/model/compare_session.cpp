// SPDX-License-Identifier: Apache-2.0
#include "gui/model/compare_session.h"

#include "analyzer/report/compare/compare.h"
#include "analyzer/report/judge.h"

namespace gd::gui {
namespace {

// The rules may be missing: then findings are not compared, and all else is.
Result<report::Report> judged(store::Trace& trace, const std::string& path, const std::string& rulesFolder) {
    if (auto set = rules::loadRules(std::vector<std::string>{rulesFolder})) {
        if (auto report = report::judge(trace, path, *set, {}, {}))
            return report;
    }
    return report::readTrace(trace.db(), path);
}

Result<report::Comparison> compareFiles(
    const std::string& base, const std::string& fresh, const std::string& rules) {
    GD_TRY_ASSIGN(auto baseTrace, report::openTrace(base));
    GD_TRY_ASSIGN(auto newTrace, report::openTrace(fresh));
    GD_TRY_ASSIGN(auto baseReport, judged(baseTrace, base, rules));
    GD_TRY_ASSIGN(auto newReport, judged(newTrace, fresh, rules));
    return report::compare(
        {baseTrace.db(), std::move(baseReport)}, {newTrace.db(), std::move(newReport)}, {});
}

} // namespace

CompareSession::CompareSession(const std::string& rulesFolder, QObject* parent)
    : QObject(parent)
    , m_rulesFolder(rulesFolder) { }

CompareSession::~CompareSession() {
    m_stop = true;
    m_thread.clear();
    m_thread.waitForDone();
}

void CompareSession::compare(const QString& base, const QString& fresh) {
    m_thread.start([this, base = base.toStdString(), fresh = fresh.toStdString()] {
        auto comparison = compareFiles(base, fresh, m_rulesFolder);
        if (m_stop)
            return;
        if (comparison)
            m_mail.post(
                [this, shared = std::make_shared<const report::Comparison>(std::move(comparison).value())] {
                    emit compared(shared);
                });
        else
            m_mail.post(
                [this, text = QString::fromStdString(comparison.error().message)] { emit failed(text); });
    });
}

} // namespace gd::gui
