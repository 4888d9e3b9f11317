// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/legend.h"

#include <QPainter>

#include <utility>

namespace gd::gui {

Legend::Legend(const Theme& theme, std::vector<Entry> entries, QWidget* parent)
    : QWidget(parent)
    , m_theme(&theme) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setEntries(std::move(entries));
}

void Legend::setEntries(std::vector<Entry> entries) {
    m_entries = std::move(entries);
    QStringList words;
    for (const Entry& entry : m_entries)
        words += entry.text;
    setToolTip(words.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

void Legend::setTheme(const Theme& theme) {
    m_theme = &theme;
    update();
}

int Legend::widthOf(const Entry& entry) const {
    return fontMetrics().horizontalAdvance(entry.text) + 2 * fontMetrics().height();
}

QSize Legend::sizeHint() const {
    int width = 0;
    for (const Entry& entry : m_entries)
        width += widthOf(entry);
    return {width, fontMetrics().height() + 4};
}

QSize Legend::minimumSizeHint() const {
    return {0, sizeHint().height()};
}

void Legend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const int side = fontMetrics().height() - 4;
    int x = 0;
    for (const Entry& entry : m_entries) {
        const QRect box(x, 4, side, side);
        if (box.right() + 4 + fontMetrics().horizontalAdvance(entry.text) > width())
            return;
        const QColor& color = m_theme->bar(entry.category);
        painter.fillRect(box, m_theme->background);
        painter.fillRect(box, entry.isHatched ? QBrush(color, Qt::BDiagPattern) : QBrush(color));
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(x + side + 4, fontMetrics().ascent() + 2, entry.text);
        x += widthOf(entry);
    }
}

} // namespace gd::gui
