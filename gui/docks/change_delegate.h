// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>

namespace gd::gui {

struct Theme;

// The verdict of a difference in the colour of its gravity; the word says the same.
class ChangeDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    ChangeDelegate(const Theme* theme, QObject* parent);
    void setTheme(const Theme* theme) { m_theme = theme; }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

private:
    const Theme* m_theme;
};

} // namespace gd::gui
