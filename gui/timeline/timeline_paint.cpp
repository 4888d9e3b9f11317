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
constexpr int kMostLabels = 4000; // kept

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
    painter.fillRect(viewport()->rect(), m_theme->background);
    if (m_layout.lines().empty()) {
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
    const auto ticks = ticksFor(m_shown, plotWidth(), fontMetrics().averageCharWidth() * 14);
    // Pinned rows last: they cover what scrolls under them.
    for (const bool pinned : {false, true}) {
        for (std::size_t i = 0; i < m_layout.lines().size(); ++i) {
            const RowLayout::Line& line = m_layout.lines()[i];
            const int y = lineTop(line);
            if (line.pinned == pinned && y + line.height >= top && y <= bottom)
                paintLine(painter, static_cast<int>(i), ticks.times);
        }
    }
    if (m_layout.pinnedHeight() > 0)
        painter.fillRect(0, top + m_layout.pinnedHeight() - 1, viewport()->width(), 2, m_theme->muted);
    const int end = top + m_layout.height() - verticalScrollBar()->value();
    if (end < bottom)
        painter.fillRect(0, end, plotLeft(), bottom - end, m_theme->header);
}

void TimelineView::paintLine(QPainter& painter, int index, const std::vector<std::int64_t>& ticks) {
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    const int y = lineTop(line);
    const QRect plot(plotLeft(), y, plotWidth(), line.height);
    painter.fillRect(plot,
        !line.row            ? m_theme->header
            : index % 2 == 1 ? m_theme->alternate
                             : m_theme->background);
    painter.save();
    painter.setClipRect(plot);
    if (line.row) {
        for (const std::int64_t t : ticks)
            painter.fillRect(
                QRectF(plotLeft() + std::floor(m_shown.xAt(t)), y, 1, line.height), m_theme->grid);
        const std::size_t lanes = line.row->curve ? 1 : line.row->lanes.size();
        for (std::size_t lane = 0; lane < lanes; ++lane)
            paintLane(painter, line, lane, y + 2 + static_cast<int>(lane) * line.laneHeight);
    } else if (line.busy) {
        painter.fillRect(plot.adjusted(0, 2, 0, -2), m_theme->background);
        paintStrip(painter, *line.busy, 0, plot.adjusted(0, 2, 0, -2));
    }
    painter.restore();
    paintHeader(painter, line, y, index == m_currentLine);
}

void TimelineView::paintStrip(QPainter& painter, const TrackRow& row, std::size_t lane, const QRect& place) {
    const Strip* strip = m_strips.find(&row);
    if (strip == nullptr || lane >= strip->lanes.size())
        return;
    // Where the strip's pixels stand now; at its own scale on whole device pixels, so that it stays sharp.
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
    const QImage& image = strip->lanes[lane];
    painter.drawImage(QRectF(place.left() + from, place.top(), to - from, place.height()), image,
        QRectF((from - left) * perPixel, 0, (to - from) * perPixel, image.height()));
}

void TimelineView::paintLane(QPainter& painter, const RowLayout::Line& line, std::size_t lane, int y) {
    const int height = line.laneHeight > 4 ? line.laneHeight - 1 : line.laneHeight;
    paintStrip(painter, *line.row, lane, QRect(plotLeft(), y, plotWidth(), height));
    if (line.row->curve) {
        const QString top
            = tr("most: %1").arg(QString::fromStdString(base::formatBytes(line.row->curve->maximum())));
        const QRectF plate(
            plotLeft() + 4, y + 2, fontMetrics().horizontalAdvance(top) + 8, fontMetrics().height() + 2);
        painter.fillRect(plate, m_theme->background);
        painter.setPen(m_theme->text);
        painter.drawText(plate, Qt::AlignCenter, top);
        return;
    }
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
        const NameTable::Entry& entry = (*m_names)[lane.name(i)];
        const auto steps = static_cast<quint64>((to - from - 6) / 8);
        const quint64 key = (static_cast<quint64>(lane.name(i)) << 32) | steps;
        auto label = m_labels.find(key);
        if (label == m_labels.end()) {
            if (m_labels.size() > kMostLabels)
                m_labels.clear();
            const QString text = fontMetrics().elidedText(
                QString::fromStdString(entry.text).left(300), Qt::ElideRight, static_cast<int>(steps * 8));
            QStaticText made(text);
            made.setTextFormat(Qt::PlainText);
            label = m_labels.insert(key, made);
        }
        if (hatched) {
            const QSizeF size = label->size();
            painter.fillRect(QRectF(plotLeft() + from + 3, y + 1, size.width() + 4, line.laneHeight - 3),
                m_theme->background);
        }
        painter.setPen(hatched ? m_theme->text : labelOn(m_theme->bar(entry.category)));
        painter.drawStaticText(
            QPointF(plotLeft() + from + 5, y + (line.laneHeight - 1 - fontMetrics().height()) / 2), *label);
    }
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
