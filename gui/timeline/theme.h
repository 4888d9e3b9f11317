// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/rules/finding.h"
#include "gui/model/category.h"

#include <QColor>
#include <QPalette>

#include <array>

namespace gd::gui {

// Every colour of the viewer, in one table with a light and a dark column. Categories keep apart for the
// common kinds of colour blindness (after Okabe and Ito, jfly.uni-koeln.de/color); meaning never hangs on
// the hue alone: gaps are hatched, findings carry a letter and a shape, idle is empty.
struct Theme {
    QColor background, alternate, header, text, muted, grid, selection, area;
    QColor error, warning, info;
    std::array<QColor, kCategories> category;

    static const Theme& light();
    static const Theme& dark();
    // The column that fits a palette: by the lightness of its window colour.
    static const Theme& of(const QPalette& palette);
    // A palette for the docks around, when the theme is forced.
    QPalette palette() const;

    const QColor& bar(Category c) const { return category[static_cast<std::size_t>(c)]; }
    const QColor& severity(rules::Severity s) const;
};

// Black or white, whichever is easier to read on this colour.
QColor labelOn(const QColor& bar);
// Contrast ratio of WCAG 2.1, 1 to 21.
double contrast(const QColor& a, const QColor& b);
// `over` covers `share` (0 to 1) of `under`.
QRgb blend(const QColor& under, const QColor& over, double share);

} // namespace gd::gui
