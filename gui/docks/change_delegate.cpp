// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/change_delegate.h"

#include "gui/model/compare_model.h"
#include "gui/timeline/theme.h"

namespace gd::gui {

ChangeDelegate::ChangeDelegate(const Theme* theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme) { }

void ChangeDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant change = index.data(CompareModel::kChangeRole);
    if (!change.isValid())
        return;
    switch (static_cast<report::Change>(change.toInt())) {
    case report::Change::worse:
    case report::Change::onlyNew:
        option->palette.setColor(QPalette::Text, m_theme->error);
        option->font.setBold(true);
        break;
    case report::Change::better:
    case report::Change::onlyBase:
        option->palette.setColor(QPalette::Text, m_theme->info);
        break;
    default:
        option->palette.setColor(QPalette::Text, m_theme->muted);
        break;
    }
}

} // namespace gd::gui
