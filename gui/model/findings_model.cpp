// SPDX-License-Identifier: Apache-2.0
#include "gui/model/findings_model.h"

#include "analyzer/base/time.h"
#include "gui/model/words.h"

#include <filesystem>

namespace gd::gui {
namespace {

// internalId: 0 = top level; n + 1 = child of top row n.
constexpr quintptr kTop = 0;

QString text(const std::string& utf8) {
    return QString::fromStdString(utf8);
}

} // namespace

FindingsModel::FindingsModel(QObject* parent)
    : QAbstractItemModel(parent) { }

void FindingsModel::setReport(const ReportPtr& report) {
    beginResetModel();
    m_report = report;
    m_notEvaluated.clear();
    if (m_report) {
        for (const rules::RuleOutcome& rule : m_report->report.rules) {
            if (rule.outcome == rules::Outcome::notEvaluated)
                m_notEvaluated.push_back(&rule);
        }
    }
    endResetModel();
}

int FindingsModel::findingCount() const {
    return m_report ? static_cast<int>(m_report->report.findings.size()) : 0;
}

QModelIndex FindingsModel::indexOfFinding(int number) const {
    return number >= 0 && number < findingCount() ? createIndex(number, 0, kTop) : QModelIndex();
}

const rules::Finding* FindingsModel::finding(const QModelIndex& index) const {
    if (!m_report || !index.isValid())
        return nullptr;
    const auto row = static_cast<std::size_t>(index.row());
    const auto& heads = m_report->report.findings;
    if (index.internalId() == kTop)
        return row < heads.size() ? &heads[row] : nullptr;
    const auto head = static_cast<std::size_t>(index.internalId() - 1);
    return head < heads.size() && row < heads[head].folded.size() ? &heads[head].folded[row] : nullptr;
}

QModelIndex FindingsModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : kTop);
}

QModelIndex FindingsModel::parent(const QModelIndex& child) const {
    if (!child.isValid() || child.internalId() == kTop)
        return {};
    return createIndex(static_cast<int>(child.internalId() - 1), 0, kTop);
}

int FindingsModel::rowCount(const QModelIndex& parent) const {
    if (!m_report)
        return 0;
    if (!parent.isValid())
        return findingCount() + (hasRules() ? 1 : 0);
    if (parent.column() != 0 || parent.internalId() != kTop)
        return 0;
    if (parent.row() == findingCount())
        return static_cast<int>(m_notEvaluated.size());
    return static_cast<int>(m_report->report.findings[static_cast<std::size_t>(parent.row())].folded.size());
}

int FindingsModel::columnCount(const QModelIndex&) const {
    return kColumns;
}

QVariant FindingsModel::findingText(const rules::Finding& finding, int column) const {
    switch (column) {
    case severity: {
        const QString letter = text(std::string(rules::name(finding.severity))).left(1).toUpper();
        return QStringLiteral("%1 %2").arg(letter, text(finding.rule));
    }
    case title:
        return text(finding.title);
    case place: {
        if (finding.locations.empty())
            return QStringLiteral("–");
        const rules::Location& at = finding.locations.front();
        if (at.file.empty())
            return text(at.function);
        return QStringLiteral("%1:%2")
            .arg(text(std::filesystem::path(at.file).filename().string()))
            .arg(at.line);
    }
    case cost:
        return finding.costNs ? text(base::formatDuration(*finding.costNs)) : QStringLiteral("–");
    default:
        return {};
    }
}

QVariant FindingsModel::data(const QModelIndex& index, int role) const {
    if (!m_report || !index.isValid())
        return {};
    if (const rules::Finding* found = finding(index)) {
        if (role == Qt::DisplayRole)
            return findingText(*found, index.column());
        if (role == Qt::ToolTipRole)
            return text(found->message).toHtmlEscaped();
        if (role == Qt::AccessibleTextRole)
            return QStringLiteral("%1 %2: %3. %4")
                .arg(Words::tr(std::string(rules::name(found->severity)).c_str()), text(found->rule),
                    text(found->title), text(found->message));
        return {};
    }
    if (index.internalId() == kTop) {
        if (role == Qt::DisplayRole && index.column() == title)
            return tr("%n rule(s) not evaluated", nullptr, static_cast<int>(m_notEvaluated.size()));
        return {};
    }
    const rules::RuleOutcome& rule = *m_notEvaluated[static_cast<std::size_t>(index.row())];
    if (role == Qt::ToolTipRole)
        return text(rule.reason).toHtmlEscaped();
    if (role != Qt::DisplayRole)
        return {};
    if (index.column() == severity)
        return text(rule.id);
    if (index.column() == title)
        return QStringLiteral("%1: %2").arg(text(rule.title), text(rule.reason));
    return {};
}

QVariant FindingsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case severity:
        return tr("Rule");
    case title:
        return tr("Finding");
    case place:
        return tr("Source");
    case cost:
        return tr("Cost");
    default:
        return {};
    }
}

} // namespace gd::gui
