// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/timeline/theme.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace gd::gui {

// What each colour means, in one line: of those that are there to be seen. Where it is too narrow, the last
// entries are left out; the tool tip has them all.
class Legend : public QWidget {
public:
    struct Entry {
        QString text;
        Category category = Category::compute;
        bool isHatched = false;
    };
    Legend(const Theme& theme, std::vector<Entry> entries, QWidget* parent = nullptr);

    void setTheme(const Theme& theme);
    void setEntries(std::vector<Entry> entries);
    const std::vector<Entry>& entries() const { return m_entries; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    int widthOf(const Entry& entry) const;

    const Theme* m_theme;
    std::vector<Entry> m_entries;
};

} // namespace gd::gui
