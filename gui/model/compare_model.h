// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/compare/comparison.h"

#include <QAbstractItemModel>

#include <memory>
#include <utility>
#include <vector>

namespace gd::gui {

using ComparisonPtr = std::shared_ptr<const report::Comparison>;

// What differs between two traces: sections, and below them a line a figure, in the order of the comparison.
// Notes on what to bear in mind come first. `onlyChanges` leaves out what is the same or was not compared.
class CompareModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { what, base, fresh, absolute, relative, verdict, kColumns };
    static constexpr int kChangeRole = Qt::UserRole; // report::Change as int; headings: invalid

    explicit CompareModel(QObject* parent = nullptr);
    void setComparison(ComparisonPtr comparison); // null: empty
    void setOnlyChanges(bool only);

    const ComparisonPtr& comparison() const { return m_comparison; }
    // The difference of an index; null for headings and notes.
    const report::Difference* difference(const QModelIndex& index) const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Group {
        QString title;
        bool isNotes = false;
        std::vector<std::size_t> lines; // indices into notes or differences
    };
    void group();
    QVariant text(const report::Difference& difference, int column) const;

    ComparisonPtr m_comparison;
    bool m_onlyChanges = false;
    std::vector<Group> m_groups;
};

} // namespace gd::gui
