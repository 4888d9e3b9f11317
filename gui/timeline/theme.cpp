// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/theme.h"

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

struct Line {
    QColor Theme::*field;
    QRgb light;
    QRgb dark;
};

constexpr Line kTable[] = {
    {&Theme::background, 0xffffffff, 0xff16181d},
    {&Theme::alternate, 0xfff5f6f8, 0xff1c1f26},
    {&Theme::header, 0xffe4e7ec, 0xff2a2f3a},
    {&Theme::text, 0xff1b1f27, 0xffe6e9ef},
    {&Theme::muted, 0xff5a6372, 0xff9aa4b5},
    {&Theme::grid, 0xffd9dde4, 0xff323845},
    {&Theme::selection, 0xff1b1f27, 0xffffffff},
    {&Theme::area, 0xff3b6fd4, 0xff6fa0ff},
    {&Theme::error, 0xffb3001b, 0xffff6b6b},
    {&Theme::warning, 0xff8a5a00, 0xffffc14d},
    {&Theme::info, 0xff35608f, 0xff7fb4ea},
};

struct Bar {
    Category category;
    QRgb light;
    QRgb dark;
};

constexpr Bar kBars[] = {
    {Category::gemm, 0xff0072b2, 0xff3d9bd6},
    {Category::attention, 0xff009e73, 0xff1fb98c},
    {Category::compute, 0xff6cbdec, 0xff56b4e9},
    {Category::comm, 0xffd55e00, 0xffe8731a},
    {Category::copy, 0xffe3d52f, 0xfff0e442},
    {Category::fill, 0xffcc79a7, 0xffd58fb6},
    {Category::replay, 0xffe69f00, 0xfff0ad1e},
    {Category::host, 0xffa9b1bd, 0xff7e8898},
    {Category::gap, 0xffb3001b, 0xffff6b6b},
    {Category::memory, 0xff6d8296, 0xff6f8fae},
};

Theme build(bool dark) {
    Theme theme;
    for (const Line& line : kTable)
        theme.*line.field = QColor::fromRgb(dark ? line.dark : line.light);
    for (const Bar& bar : kBars)
        theme.category[static_cast<std::size_t>(bar.category)] = QColor::fromRgb(dark ? bar.dark : bar.light);
    return theme;
}

double luminance(const QColor& color) {
    const auto linear
        = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

} // namespace

const Theme& Theme::light() {
    static const Theme theme = build(false);
    return theme;
}

const Theme& Theme::dark() {
    static const Theme theme = build(true);
    return theme;
}

const Theme& Theme::of(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128 ? dark() : light();
}

QPalette Theme::palette() const {
    QPalette out(header);
    out.setColor(QPalette::Window, header);
    out.setColor(QPalette::Base, background);
    out.setColor(QPalette::AlternateBase, alternate);
    out.setColor(QPalette::Button, header);
    out.setColor(QPalette::ToolTipBase, alternate);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText,
             QPalette::BrightText})
        out.setColor(role, text);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        out.setColor(QPalette::Disabled, role, muted);
    out.setColor(QPalette::PlaceholderText, muted);
    out.setColor(QPalette::Link, area);
    out.setColor(QPalette::Highlight, area);
    out.setColor(QPalette::HighlightedText, labelOn(area));
    return out;
}

const QColor& Theme::severity(rules::Severity s) const {
    switch (s) {
    case rules::Severity::error:
        return error;
    case rules::Severity::warning:
        return warning;
    case rules::Severity::info:
        break;
    }
    return info;
}

QColor labelOn(const QColor& bar) {
    const QColor black(Qt::black);
    const QColor white(Qt::white);
    return contrast(bar, black) >= contrast(bar, white) ? black : white;
}

double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QRgb blend(const QColor& under, const QColor& over, double share) {
    const auto mix
        = [share](int from, int to) { return static_cast<int>(std::lround(from + (to - from) * share)); };
    return qRgb(
        mix(under.red(), over.red()), mix(under.green(), over.green()), mix(under.blue(), over.blue()));
}

} // namespace gd::gui
