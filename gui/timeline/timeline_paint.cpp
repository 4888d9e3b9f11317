// SPDX-License-Identifier: Apache-2.0
// Painting of the timeline. Everything here is proportional to pixels, never to events.
#include "analyzer/base/time.h"
#include "gui/timeline/ruler.h"
#include "gui/timeline/timeline_view.h"

#include <QLocale>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

constexpr double kLabelPx = 30;
constexpr double kLabelOfHatched = 0.6; // of the bar's width
constexpr int kLeastLetters = 3; // of a name that is cut, the dots among them
constexpr int kMostLabels = 3000; // kept: some 6 KB each

// Until when a communication kernel waits for other ranks; -1: it does not, or nobody knows.
std::int64_t waitEnd(const TrackRow& row, const Lane& lane, std::size_t i) {
    if (!row.matches)
        return -1;
    return row.matches->waitsUntilNs(
        row.matches->find(row.process, row.place(lane.row(i)).rowId, lane.start(i)));
}

} // namespace

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (m_layout.lines().empty()) {
        painter.fillRect(viewport()->rect(), m_theme->background);
        painter.setPen(m_theme->muted);
        painter.drawText(
            viewport()->rect().adjusted(40, 0, -40, 0), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
        return;
    }
    paintRows(painter);
    painter.save();
    painter.setClipRect(plotLeft(), 0, plotWidth(), viewport()->height());
    paintArea(painter);
    paintSelection(painter);
    paintFlow(painter);
    painter.restore();
    paintRuler(painter);
    paintMarks(painter);
    paintFindings(painter);
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(m_theme->area, 2));
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

void TimelineView::paintRows(QPainter& painter) {
    const int top = rowsTop();
    const int bottom = viewport()->height();
    const Grounds grounds = {groundLine(m_theme->background), groundLine(m_theme->alternate)};
    // Pinned rows last: they cover what scrolls under them.
    for (const bool pinned : {false, true}) {
        for (std::size_t i = 0; i < m_layout.lines().size(); ++i) {
            const RowLayout::Line& line = m_layout.lines()[i];
            const int y = lineTop(line);
            if (line.pinned == pinned && y + line.height >= top && y <= bottom)
                paintLine(painter, static_cast<int>(i), grounds);
        }
    }
    if (m_layout.pinnedHeight() > 0)
        painter.fillRect(0, top + m_layout.pinnedHeight() - 1, viewport()->width(), 2, m_theme->muted);
    const int end = top + m_layout.height() - verticalScrollBar()->value();
    if (end >= bottom)
        return;
    painter.fillRect(0, end, plotLeft(), bottom - end, m_theme->header);
    painter.fillRect(plotLeft(), end, plotWidth(), bottom - end, m_theme->background);
}

// Device pixels across the plot where no event is: the ground, what lies outside of the trace, the grid.
QImage TimelineView::groundLine(const QColor& ground) const {
    const double ratio = devicePixelRatioF();
    QImage line(std::max(1, static_cast<int>(std::ceil(plotWidth() * ratio))), 1, QImage::Format_RGB32);
    line.fill(ground);
    auto* const pixels = reinterpret_cast<QRgb*>(line.scanLine(0));
    const auto at = [&](std::int64_t ns) {
        return static_cast<int>(
            std::clamp(std::floor(m_shown.xAt(ns)) * ratio, -ratio, static_cast<double>(line.width())));
    };
    const QRgb outside = blend(ground, m_theme->header, 0.6);
    std::fill(pixels, pixels + std::max(0, at(m_info.startNs)), outside);
    std::fill(pixels + std::max(0, at(m_info.endNs)), pixels + line.width(), outside);
    for (const std::int64_t t : ticksFor(m_shown, plotWidth(), fontMetrics().averageCharWidth() * 14).times) {
        const int x = at(t);
        std::fill(pixels + std::clamp(x, 0, line.width()),
            pixels + std::clamp(x + std::max(1, static_cast<int>(ratio)), 0, line.width()),
            m_theme->grid.rgb());
    }
    return line;
}

// Repeats a line of device pixels down a part of the plot: by far the cheapest way to paint one.
void TimelineView::fillWith(QPainter& painter, const QRect& place, const QImage& line) const {
    QBrush brush(line);
    if (const double ratio = devicePixelRatioF(); ratio != 1)
        brush.setTransform(QTransform::fromScale(1 / ratio, 1 / ratio));
    painter.setBrushOrigin(plotLeft(), 0);
    painter.fillRect(place, brush);
}

void TimelineView::paintLine(QPainter& painter, int index, const Grounds& grounds) {
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    const int y = lineTop(line);
    const QRect plot(plotLeft(), y, plotWidth(), line.height);
    const QImage& ground = grounds[index % 2 == 1 ? 1 : 0];
    painter.save();
    painter.setClipRect(plot);
    if (line.row) {
        fillWith(painter, QRect(plot.left(), y, plot.width(), 2), ground);
        const std::size_t lanes = line.row->curve ? 1 : line.row->lanes.size();
        for (std::size_t lane = 0; lane < lanes; ++lane)
            paintLane(painter, line, lane, y + 2 + static_cast<int>(lane) * line.laneHeight, ground);
        const int end = y + 2 + static_cast<int>(lanes) * line.laneHeight;
        fillWith(painter, QRect(plot.left(), end, plot.width(), y + line.height - end), ground);
    } else {
        painter.fillRect(plot, m_theme->header);
        const Strip* strip = line.busy ? m_strips.find(line.busy.get()) : nullptr;
        if (line.busy)
            fillWith(
                painter, plot.adjusted(0, 2, 0, -2), strip ? withStrip(grounds[0], *strip, 0) : grounds[0]);
    }
    painter.restore();
    paintHeader(painter, line, y, index == m_currentLine);
}

// The ground with a strip's pixels where they stand now: at its own scale on whole device pixels, so that it
// stays sharp, else stretched.
QImage TimelineView::withStrip(const QImage& ground, const Strip& strip, std::size_t lane) const {
    const double ratio = devicePixelRatioF();
    double left = m_shown.xAt(strip.scale.startNs) * ratio;
    double perPixel = m_shown.nsPerPx / ratio / strip.scale.nsPerPx;
    if (std::abs(perPixel - 1) < 1e-9) {
        perPixel = 1;
        left = std::round(left);
    }
    QImage out = ground;
    const QImage& image = strip.lanes[lane];
    const auto* const from = reinterpret_cast<const QRgb*>(image.constScanLine(0));
    auto* const to = reinterpret_cast<QRgb*>(out.scanLine(0));
    const double past = std::min<double>(out.width(), std::ceil(left + image.width() / perPixel - 0.5));
    for (int x = static_cast<int>(std::max(0.0, std::ceil(left - 0.5))); x < past; ++x) {
        const auto at = std::min(static_cast<int>((x + 0.5 - left) * perPixel), image.width() - 1);
        if (from[at] != 0) // else nothing is there
            to[x] = from[at];
    }
    return out;
}

// A picture of a memory row has more than one line of pixels.
void TimelineView::paintCurve(QPainter& painter, const TrackRow& row, const QRect& place) const {
    const Strip* strip = m_strips.find(&row);
    if (strip == nullptr || strip->lanes.empty())
        return;
    const double ratio = devicePixelRatioF();
    double left = m_shown.xAt(strip->scale.startNs);
    const double width = strip->width * strip->scale.nsPerPx / m_shown.nsPerPx;
    if (std::abs(strip->scale.nsPerPx * ratio - m_shown.nsPerPx) < 1e-9 * m_shown.nsPerPx)
        left = std::round(left * ratio) / ratio;
    const double from = std::max(0.0, left);
    const double to = std::min<double>(plotWidth(), left + width);
    if (to <= from)
        return;
    const double perPixel = strip->width / width;
    const QImage& image = strip->lanes.front();
    painter.drawImage(QRectF(place.left() + from, place.top(), to - from, place.height()), image,
        QRectF((from - left) * perPixel, 0, (to - from) * perPixel, image.height()));
}

void TimelineView::paintLane(
    QPainter& painter, const RowLayout::Line& line, std::size_t lane, int y, const QImage& ground) {
    const int height = line.laneHeight > 4 ? line.laneHeight - 1 : line.laneHeight;
    const QRect place(plotLeft(), y, plotWidth(), height);
    if (line.row->curve) {
        fillWith(painter, place.adjusted(0, 0, 0, line.laneHeight - height), ground);
        paintCurve(painter, *line.row, place);
        const QString top
            = tr("most: %1").arg(QString::fromStdString(base::formatBytes(line.row->curve->maximum())));
        const QRectF plate(
            plotLeft() + 4, y + 2, fontMetrics().horizontalAdvance(top) + 8, fontMetrics().height() + 2);
        painter.fillRect(plate, m_theme->background);
        painter.setPen(m_theme->text);
        painter.drawText(plate, Qt::AlignCenter, top);
        return;
    }
    const Strip* strip = m_strips.find(line.row.get());
    fillWith(painter, place,
        strip != nullptr && lane < strip->lanes.size() ? withStrip(ground, *strip, lane) : ground);
    if (height < line.laneHeight)
        fillWith(painter, QRect(place.left(), y + height, place.width(), line.laneHeight - height), ground);
    const Lane& events = *line.row->lanes[lane];
    if (line.row->kind == RowKind::gap)
        paintHatch(painter, line, events, y);
    if (line.row->matches)
        paintWaits(painter, line, events, y);
    if (height >= fontMetrics().height())
        paintLabels(painter, line, events, y);
}

// A gap is idle time: hatched, so that nobody takes it for work.
void TimelineView::paintHatch(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y) {
    const std::size_t last = lane.lowerBound(m_shown.endNs(plotWidth()));
    const auto least = static_cast<std::int64_t>(3 * m_shown.nsPerPx);
    for (std::size_t i = lane.nextAtLeast(lane.firstEndingAfter(m_shown.startNs), last, least); i < last;
         i = lane.nextAtLeast(i + 1, last, least)) {
        const double from = std::max(0.0, m_shown.xAt(lane.start(i)));
        const double to = std::min<double>(plotWidth(), m_shown.xAt(lane.end(i)));
        const QRectF bar(plotLeft() + from, y, to - from, line.laneHeight - 1);
        hatch(painter, bar, m_theme->bar(Category::gap));
    }
}

void TimelineView::hatch(QPainter& painter, const QRectF& bar, const QColor& color) {
    painter.fillRect(bar, m_theme->background);
    painter.fillRect(bar, QBrush(color, Qt::BDiagPattern));
    painter.setPen(color);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar.adjusted(0, 0, -1, -1));
}

// A communication kernel spins until the last rank arrives: that part is hatched, the transfer stays solid.
void TimelineView::paintWaits(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y) {
    const std::size_t last = lane.lowerBound(m_shown.endNs(plotWidth()));
    const auto least = static_cast<std::int64_t>(3 * m_shown.nsPerPx);
    for (std::size_t i = lane.nextAtLeast(lane.firstEndingAfter(m_shown.startNs), last, least); i < last;
         i = lane.nextAtLeast(i + 1, last, least)) {
        const std::int64_t until = waitEnd(*line.row, lane, i);
        const double from = std::max(0.0, m_shown.xAt(lane.start(i)));
        const double to = std::min<double>(plotWidth(), m_shown.xAt(until));
        if (until > lane.start(i) && to - from >= 2)
            hatch(painter, QRectF(plotLeft() + from, y, to - from, line.laneHeight - 1),
                m_theme->bar(Category::comm));
    }
}

void TimelineView::paintLabels(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y) {
    const std::size_t last = lane.lowerBound(m_shown.endNs(plotWidth()));
    const auto least = static_cast<std::int64_t>(kLabelPx * m_shown.nsPerPx);
    const QFontMetrics font = fontMetrics();
    const double top = y + (line.laneHeight - 1 - font.height()) / 2;
    for (std::size_t i = lane.nextAtLeast(lane.firstEndingAfter(m_shown.startNs), last, least); i < last;
         i = lane.nextAtLeast(i + 1, last, least)) {
        double from = std::max(0.0, m_shown.xAt(lane.start(i)));
        double to = std::min<double>(plotWidth(), m_shown.xAt(lane.end(i)));
        // Where a rank waits, the name stands in the part that is larger; over a hatched one it leaves enough
        // of it to see.
        const double until = std::clamp(m_shown.xAt(waitEnd(*line.row, lane, i)), from, to);
        const bool hatched = line.row->kind == RowKind::gap || until - from > to - until;
        if (!hatched)
            from = until;
        else
            to = from + kLabelOfHatched * ((line.row->kind == RowKind::gap ? to : until) - from);
        if (to - from < kLabelPx)
            continue;
        const auto steps = static_cast<quint32>((to - from - 6) / 8);
        const QImage& label = labelOf(lane.name(i), steps, hatched, font);
        if (label.isNull())
            continue;
        if (hatched) {
            const double width = label.width() / label.devicePixelRatio();
            painter.fillRect(
                QRectF(plotLeft() + from + 3, y + 1, width + 4, line.laneHeight - 3), m_theme->background);
        }
        painter.drawImage(QPointF(std::round(plotLeft() + from + 5), top), label);
    }
}

// A name as it fits into so many steps of 8 px, on the colour of its bar, or on the ground where that is
// hatched. Copying such a picture costs a tenth of drawing its letters.
const QImage& TimelineView::labelOf(
    std::uint32_t name, quint32 steps, bool hatched, const QFontMetrics& font) {
    const double ratio = devicePixelRatioF();
    if (m_labels.size() > kMostLabels || m_labelRatio != ratio)
        m_labels.clear();
    m_labelRatio = ratio;
    const quint64 key = (static_cast<quint64>(name) << 32) | (steps << 1) | (hatched ? 1 : 0);
    const auto known = m_labels.constFind(key);
    if (known != m_labels.constEnd())
        return *known;
    const NameTable::Entry& entry = (*m_names)[name];
    const QString text = font.elidedText(
        QString::fromStdString(entry.text).left(300), Qt::ElideRight, static_cast<int>(steps * 8));
    if (text.size() < kLeastLetters && text.size() < static_cast<qsizetype>(entry.text.size()))
        return *m_labels.insert(key, QImage()); // "g…" says nothing
    const QColor ground = hatched ? m_theme->background : m_theme->bar(entry.category);
    const QSize size(std::max(1, font.horizontalAdvance(text)), font.height());
    QImage image(size * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(ground);
    QPainter painter(&image);
    painter.setFont(this->font());
    painter.setPen(hatched ? m_theme->text : labelOn(ground));
    painter.drawText(QPointF(0, font.ascent()), text);
    painter.end();
    return *m_labels.insert(key, image);
}

// At the right end of a row's title; returns the width that it takes.
int TimelineView::paintHitCount(QPainter& painter, const QRect& box, std::int64_t count) {
    const QString text = QLocale::c().toString(static_cast<qlonglong>(count));
    const int width = fontMetrics().horizontalAdvance(text) + 10;
    const int height = std::min(fontMetrics().height(), box.height() - 2);
    const QRect plate(box.right() - width - 3, box.center().y() - height / 2, width, height);
    painter.setBrush(m_theme->area);
    painter.setPen(Qt::NoPen);
    painter.drawRoundedRect(plate, height / 2.0, height / 2.0);
    painter.setPen(labelOn(m_theme->area));
    painter.drawText(plate, Qt::AlignCenter, text);
    return width + 4;
}

void TimelineView::paintHeader(QPainter& painter, const RowLayout::Line& line, int y, bool current) {
    const QRect box(0, y, plotLeft(), line.height);
    painter.fillRect(box, m_theme->header);
    if (current)
        painter.fillRect(QRect(0, y, 3, line.height), m_theme->area);
    painter.setPen(m_theme->text);
    QFont font = this->font();
    QString text;
    if (line.row) {
        text = QString::fromStdString(line.row->title);
        if (m_layout.isPinned(line.row) && m_info.processes.size() > 1)
            text = QStringLiteral("%1 · %2").arg(m_layout.heading(line.process), text);
    } else {
        font.setBold(true);
        text = QStringLiteral("%1 %2").arg(
            m_layout.isCollapsed(line.process) ? QStringLiteral("▸") : QStringLiteral("▾"),
            m_layout.heading(line.process));
    }
    QRect room = box.adjusted(8, 0, -6, -1);
    if (const auto hits = line.row ? m_hits.find(line.row.get()) : m_hits.end(); hits != m_hits.end())
        room.setWidth(room.width() - paintHitCount(painter, box, hits->second));
    painter.setFont(font);
    painter.setPen(m_theme->text);
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap,
        fittedTitle(text, QFontMetrics(font), room.size()));
    painter.setFont(this->font());
    painter.fillRect(QRect(0, y + line.height - 1, plotLeft(), 1), m_theme->grid);
}

void TimelineView::paintRuler(QPainter& painter) {
    const int height = rowsTop();
    painter.fillRect(0, 0, viewport()->width(), height, m_theme->header);
    const auto ticks = ticksFor(m_shown, plotWidth(), fontMetrics().averageCharWidth() * 14);
    painter.setPen(m_theme->text);
    const int text = fontMetrics().height();
    for (const std::int64_t t : ticks.times) {
        const double x = plotLeft() + std::floor(m_shown.xAt(t));
        painter.fillRect(QRectF(x, 0, 1, text + 4), m_theme->muted);
        const QString label = QString::fromStdString(formatTime(t, ticks.stepNs));
        if (x + 4 + fontMetrics().horizontalAdvance(label) <= viewport()->width()) // whole or not at all
            painter.drawText(QPointF(x + 4, 2 + fontMetrics().ascent()), label);
    }
    painter.fillRect(0, height - 1, viewport()->width(), 1, m_theme->muted);
    painter.fillRect(0, 0, plotLeft(), height, m_theme->header);
    const auto span = static_cast<std::int64_t>(plotWidth() * m_shown.nsPerPx);
    painter.setPen(m_theme->muted);
    painter.drawText(QRect(8, 2, plotLeft() - 12, text), Qt::AlignLeft | Qt::AlignVCenter,
        tr("%1 shown").arg(QString::fromStdString(base::formatDuration(span))));
    painter.drawText(
        QRect(8, text + 4, plotLeft() - 12, text), Qt::AlignLeft | Qt::AlignVCenter, tr("Findings"));
}

// Findings are never merged away: at least a mark of fixed size with the severity's letter and shape.
void TimelineView::paintSelection(QPainter& painter) {
    const auto place = m_selected ? rectOf(m_selected) : std::nullopt;
    if (!place)
        return;
    const double from = std::max(plotLeft() - 3.0, place->left());
    const double to = std::min(plotLeft() + plotWidth() + 3.0, std::max(from + 3, place->right()));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_theme->selection, 2));
    painter.drawRect(QRectF(from, place->top(), to - from, place->height()));
}

void TimelineView::paintMarks(QPainter& painter) {
    painter.setPen(QPen(m_theme->area, 1, Qt::DashLine));
    for (const std::int64_t mark : m_marks) {
        const double x = m_shown.xAt(mark);
        if (x < 0 || x > plotWidth())
            continue;
        painter.drawLine(QPointF(plotLeft() + x, fontMetrics().height() + 4),
            QPointF(plotLeft() + x, viewport()->height()));
        const QPointF top(plotLeft() + x, fontMetrics().height() + 4);
        painter.setBrush(m_theme->area);
        painter.drawPolygon(QPolygonF({top, top + QPointF(-5, -7), top + QPointF(5, -7)}));
    }
}

void TimelineView::paintArea(QPainter& painter) {
    if (!m_area)
        return;
    const double from = std::max(-2.0, m_shown.xAt(m_area->first));
    const double to = std::min<double>(plotWidth() + 2, m_shown.xAt(m_area->second));
    if (to < 0 || from > plotWidth())
        return;
    QColor veil = m_theme->area;
    veil.setAlpha(48);
    const QRectF box(plotLeft() + from, rowsTop(), to - from, viewport()->height() - rowsTop());
    painter.fillRect(box, veil);
    painter.fillRect(QRectF(box.left(), box.top(), 1, box.height()), m_theme->area);
    painter.fillRect(QRectF(box.right(), box.top(), 1, box.height()), m_theme->area);
    const QString text = QString::fromStdString(base::formatDuration(m_area->second - m_area->first));
    const int width = fontMetrics().horizontalAdvance(text) + 10;
    const QRectF label(std::clamp(box.center().x() - width / 2.0, double(plotLeft()),
                           double(plotLeft() + plotWidth() - width)),
        viewport()->height() - fontMetrics().height() - 6, width, fontMetrics().height() + 2);
    painter.fillRect(label, m_theme->area);
    painter.setPen(labelOn(m_theme->area));
    painter.drawText(label, Qt::AlignCenter, text);
}

} // namespace gd::gui
