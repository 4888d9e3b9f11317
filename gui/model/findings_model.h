// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/trace_session.h"

#include <QAbstractItemModel>

#include <optional>

namespace gd::gui {

// What the rules found, in report order (the one to fix first on top), then one group with the rules that
// could not be evaluated. Findings that follow from another hang below it.
class FindingsModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { severity, title, place, cost, ranks, kColumns };
    static constexpr int kSortRole = Qt::UserRole; // numbers and texts that sort as one expects
    static constexpr int kTextRole = Qt::UserRole + 1; // everything that a filter looks at, of column 0

    explicit FindingsModel(QObject* parent = nullptr);
    void setReport(const ReportPtr& report); // null: empty again

    // The finding of an index; null for headings and rules.
    const rules::Finding* finding(const QModelIndex& index) const;
    int numberOf(const QModelIndex& index) const; // of its head, from 0; -1: no finding
    // Of a finding or rule; nullopt: the heading of rules.
    std::optional<rules::Severity> severityOf(const QModelIndex& index) const;
    QModelIndex indexOfFinding(int number) const; // heads, from 0
    int findingCount() const; // heads

    QModelIndex index(int row, int column, const QModelIndex& parent) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QVariant findingText(const rules::Finding& finding, int column) const;
    QVariant findingData(const rules::Finding& finding, int column, int role) const;
    QVariant ruleData(const rules::RuleOutcome& rule, int column, int role) const;
    const rules::RuleOutcome* rule(const QModelIndex& index) const; // null: a finding or the heading
    bool hasRules() const { return !m_notEvaluated.empty(); }

    ReportPtr m_report;
    std::vector<const rules::RuleOutcome*> m_notEvaluated;
};

} // namespace gd::gui
