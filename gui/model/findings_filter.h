// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/findings_model.h"

#include <QSortFilterProxyModel>

namespace gd::gui {

// Findings with a text in their rule's id, title, message or place, of a severity or above. What hangs below
// a finding that stays is shown with it; one that goes stays as long as something below it fits. Rules that
// were not evaluated are filtered likewise.
class FindingsFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit FindingsFilter(FindingsModel* findings, QObject* parent = nullptr);

    // All words of the text must be there, in any order, letter case ignored; empty: any.
    void setText(const QString& text);
    void setLeast(rules::Severity least);
    bool isActive() const { return !m_words.isEmpty() || m_least != rules::Severity::info; }
    int shownCount() const; // heads of findings
    // How heads stand: as the report has them (what to fix first on top), or by a column of the model.
    enum class Order { weight, rule, cost, place };
    void setOrder(Order order);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    FindingsModel* m_findings;
    QStringList m_words;
    rules::Severity m_least = rules::Severity::info;
};

} // namespace gd::gui
