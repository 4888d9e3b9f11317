// SPDX-License-Identifier: Apache-2.0
#include "gui/model/compare_session.h"

#include "analyzer/report/compare/compare.h"
#include "analyzer/report/judge.h"
#include "gui/model/spool_cache.h"
#include "gui/model/words.h"

namespace gd::gui {
namespace {

struct Side {
    store::Trace trace;
    report::Report report;
};

// What a spool is imported into is the same file that its timeline shows.
Result<store::Trace> openTrace(const std::string& path, const std::atomic<bool>& stop) {
    if (!isSpool(path))
        return report::openTrace(path);
    GD_TRY_ASSIGN(const std::string file, traceOfSpool(path, {}, stop));
    return report::openTrace(file);
}

// Findings are compared only where both sides have theirs; `notes` get why one has not.
Result<Side> openSide(const std::string& path, const rules::RuleSet* rules, const std::atomic<bool>& stop,
    std::vector<std::string>& notes) {
    GD_TRY_ASSIGN(auto trace, openTrace(path, stop));
    if (rules != nullptr) {
        auto report = report::judge(trace, path, *rules, {}, {});
        if (report)
            return Side{std::move(trace), std::move(report).value()};
        notes.push_back(
            Words::fill(Words::tr("Findings are not compared: %1: %2"), path, report.error().message));
    }
    GD_TRY_ASSIGN(auto report, report::readTrace(trace.db(), path));
    return Side{std::move(trace), std::move(report)};
}

Result<report::Comparison> compareFiles(const std::string& base, const std::string& fresh,
    const std::string& rulesFolder, const std::atomic<bool>& stop) {
    std::vector<std::string> notes;
    const auto rules = rules::loadRules(std::vector<std::string>{rulesFolder});
    if (!rules)
        notes.push_back(Words::fill(Words::tr("Findings are not compared: %1"), rules.error().message));
    GD_TRY_ASSIGN(auto before, openSide(base, rules ? &*rules : nullptr, stop, notes));
    GD_TRY_ASSIGN(auto after, openSide(fresh, rules ? &*rules : nullptr, stop, notes));
    if (!notes.empty()) {
        before.report.findings.clear();
        after.report.findings.clear();
    }
    GD_TRY_ASSIGN(auto comparison,
        report::compare(
            {before.trace.db(), std::move(before.report)}, {after.trace.db(), std::move(after.report)}, {}));
    comparison.notes.insert(comparison.notes.end(), notes.begin(), notes.end());
    return comparison;
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
        auto comparison = compareFiles(base, fresh, m_rulesFolder, m_stop);
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
