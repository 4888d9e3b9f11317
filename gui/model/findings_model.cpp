// SPDX-License-Identifier: Apache-2.0
#include "gui/model/findings_model.h"

#include "analyzer/base/short_list.h"
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
    case ranks: {
        std::vector<std::int64_t> numbers;
        for (const base::RankId rank : finding.ranks)
            numbers.push_back(rank.value());
        return numbers.empty() ? QStringLiteral("–") : text(base::shortList(numbers));
    }
    default:
        return {};
    }
}

const rules::RuleOutcome* FindingsModel::rule(const QModelIndex& index) const {
    const bool isRule = m_report && index.isValid() && index.internalId() != kTop
        && static_cast<int>(index.internalId()) - 1 == findingCount();
    return isRule ? m_notEvaluated[static_cast<std::size_t>(index.row())] : nullptr;
}

int FindingsModel::numberOf(const QModelIndex& index) const {
    if (finding(index) == nullptr)
        return -1;
    return index.internalId() == kTop ? index.row() : static_cast<int>(index.internalId()) - 1;
}

std::optional<rules::Severity> FindingsModel::severityOf(const QModelIndex& index) const {
    if (const rules::Finding* found = finding(index))
        return found->severity;
    if (const rules::RuleOutcome* outcome = rule(index))
        return outcome->severity;
    return std::nullopt;
}

QVariant FindingsModel::findingData(const rules::Finding& finding, int column, int role) const {
    switch (role) {
    case Qt::DisplayRole:
        return findingText(finding, column);
    case Qt::ToolTipRole:
        return text(finding.message).toHtmlEscaped();
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1 %2: %3. %4")
            .arg(Words::tr(std::string(rules::name(finding.severity)).c_str()), text(finding.rule),
                text(finding.title), text(finding.message));
    case kSortRole:
        return column == cost    ? QVariant(static_cast<qint64>(finding.costNs.value_or(-1)))
            : column == severity ? QVariant(text(finding.rule))
                                 : findingText(finding, column);
    case kTextRole:
        return QStringList{text(finding.rule), text(finding.title), text(finding.message),
            findingText(finding, place).toString()}
            .join(QLatin1Char('\n'));
    default:
        return {};
    }
}

QVariant FindingsModel::ruleData(const rules::RuleOutcome& rule, int column, int role) const {
    if (role == Qt::ToolTipRole)
        return text(rule.reason).toHtmlEscaped();
    if (role == kTextRole)
        return QStringList{text(rule.id), text(rule.title), text(rule.reason)}.join(QLatin1Char('\n'));
    if (role != Qt::DisplayRole && role != kSortRole)
        return {};
    if (column == severity)
        return text(rule.id);
    if (column == title)
        return QStringLiteral("%1: %2").arg(text(rule.title), text(rule.reason));
    return {};
}

QVariant FindingsModel::data(const QModelIndex& index, int role) const {
    if (!m_report || !index.isValid())
        return {};
    if (const rules::Finding* found = finding(index))
        return findingData(*found, index.column(), role);
    if (const rules::RuleOutcome* outcome = rule(index))
        return ruleData(*outcome, index.column(), role);
    if (role == Qt::DisplayRole && index.column() == title)
        return tr("%n rule(s) not evaluated", nullptr, static_cast<int>(m_notEvaluated.size()));
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
    case ranks:
        return tr("Ranks");
    default:
        return {};
    }
}

} // namespace gd::gui
