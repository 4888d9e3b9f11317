// SPDX-License-Identifier: Apache-2.0
// Painting of the timeline. Everything here is proportional to pixels, never to events.
#include "analyzer/base/time.h"
#include "gui/timeline/ruler.h"
#include "gui/timeline/timeline_view.h"

#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

constexpr double kLabelPx = 30;
constexpr int kMostLabels = 4000; // kept

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
    painter.restore();
    paintRuler(painter);
    paintMarks(painter);
    paintFindings(painter);
}

void TimelineView::paintRows(QPainter& painter) {
    const int top = rowsTop();
    const int bottom = viewport()->height();
    const int scroll = verticalScrollBar()->value();
    const auto ticks = ticksFor(m_scale, plotWidth(), fontMetrics().averageCharWidth() * 14);
    int index = -1;
    for (const RowLayout::Line& line : m_layout.lines()) {
        ++index;
        const int y = top + line.y - scroll;
        if (y + line.height < top || y > bottom)
            continue;
        const QRect plot(plotLeft(), y, plotWidth(), line.height);
        painter.fillRect(plot, line.row && index % 2 == 1 ? m_theme->alternate : m_theme->background);
        if (!line.row) {
            painter.fillRect(plot, m_theme->header);
        } else {
            painter.save();
            painter.setClipRect(plot);
            for (const std::int64_t t : ticks.times)
                painter.fillRect(
                    QRectF(plotLeft() + std::floor(m_scale.xAt(t)), y, 1, line.height), m_theme->grid);
            const std::size_t lanes = line.row->curve ? 1 : line.row->lanes.size();
            for (std::size_t lane = 0; lane < lanes; ++lane)
                paintLane(painter, line, lane, y + 2 + static_cast<int>(lane) * line.laneHeight);
            painter.restore();
        }
        paintHeader(painter, line, y, index == m_currentLine);
    }
    const int end = top + m_layout.height() - scroll;
    if (end < bottom)
        painter.fillRect(0, end, plotLeft(), bottom - end, m_theme->header);
}

void TimelineView::paintLane(QPainter& painter, const RowLayout::Line& line, std::size_t lane, int y) {
    const int height = line.laneHeight > 4 ? line.laneHeight - 1 : line.laneHeight;
    if (const Strip* strip = m_strips.find(line.row.get()); strip != nullptr && lane < strip->lanes.size()) {
        // Where the strip's pixels stand now; at its own scale on whole device pixels, so that it stays
        // sharp.
        const double ratio = devicePixelRatioF();
        double left = m_scale.xAt(strip->scale.startNs);
        const double width = strip->width * strip->scale.nsPerPx / m_scale.nsPerPx;
        if (std::abs(strip->scale.nsPerPx * ratio - m_scale.nsPerPx) < 1e-9 * m_scale.nsPerPx)
            left = std::round(left * ratio) / ratio;
        const double from = std::max(0.0, left);
        const double to = std::min<double>(plotWidth(), left + width);
        if (to > from) {
            const double perPixel = strip->width / width;
            const QImage& image = strip->lanes[lane];
            painter.drawImage(QRectF(plotLeft() + from, y, to - from, height), image,
                QRectF((from - left) * perPixel, 0, (to - from) * perPixel, image.height()));
        }
    }
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
    if (height >= fontMetrics().height())
        paintLabels(painter, line, events, y);
}

// A gap is idle time: hatched, so that nobody takes it for work.
void TimelineView::paintHatch(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y) {
    const std::size_t last = lane.lowerBound(m_scale.endNs(plotWidth()));
    const auto least = static_cast<std::int64_t>(3 * m_scale.nsPerPx);
    for (std::size_t i = lane.nextAtLeast(lane.firstEndingAfter(m_scale.startNs), last, least); i < last;
         i = lane.nextAtLeast(i + 1, last, least)) {
        const double from = std::max(0.0, m_scale.xAt(lane.start(i)));
        const double to = std::min<double>(plotWidth(), m_scale.xAt(lane.end(i)));
        const QRectF bar(plotLeft() + from, y, to - from, line.laneHeight - 1);
        painter.fillRect(bar, m_theme->background);
        painter.fillRect(bar, QBrush(m_theme->bar(Category::gap), Qt::BDiagPattern));
        painter.setPen(m_theme->bar(Category::gap));
        painter.drawRect(bar.adjusted(0, 0, -1, -1));
    }
}

void TimelineView::paintLabels(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y) {
    const std::size_t last = lane.lowerBound(m_scale.endNs(plotWidth()));
    const auto least = static_cast<std::int64_t>(kLabelPx * m_scale.nsPerPx);
    for (std::size_t i = lane.nextAtLeast(lane.firstEndingAfter(m_scale.startNs), last, least); i < last;
         i = lane.nextAtLeast(i + 1, last, least)) {
        const double from = std::max(0.0, m_scale.xAt(lane.start(i)));
        const double to = std::min<double>(plotWidth(), m_scale.xAt(lane.end(i)));
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
        const bool hatched = line.row->kind == RowKind::gap;
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
    } else {
        font.setBold(true);
        text = QStringLiteral("%1 %2").arg(
            m_layout.isCollapsed(line.process) ? QStringLiteral("▸") : QStringLiteral("▾"),
            m_layout.heading(line.process));
    }
    painter.setFont(font);
    const QFontMetrics metrics(font);
    painter.drawText(box.adjusted(8, 0, -6, 0), Qt::AlignVCenter | Qt::AlignLeft,
        metrics.elidedText(text, Qt::ElideMiddle, box.width() - 14));
    painter.setFont(this->font());
    painter.fillRect(QRect(0, y + line.height - 1, plotLeft(), 1), m_theme->grid);
}

void TimelineView::paintRuler(QPainter& painter) {
    const int height = rowsTop();
    painter.fillRect(0, 0, viewport()->width(), height, m_theme->header);
    const auto ticks = ticksFor(m_scale, plotWidth(), fontMetrics().averageCharWidth() * 14);
    painter.setPen(m_theme->text);
    const int text = fontMetrics().height();
    for (const std::int64_t t : ticks.times) {
        const double x = plotLeft() + std::floor(m_scale.xAt(t));
        painter.fillRect(QRectF(x, 0, 1, text + 4), m_theme->muted);
        painter.drawText(
            QPointF(x + 4, 2 + fontMetrics().ascent()), QString::fromStdString(formatTime(t, ticks.stepNs)));
    }
    painter.fillRect(0, height - 1, viewport()->width(), 1, m_theme->muted);
    painter.fillRect(0, 0, plotLeft(), height, m_theme->header);
    const auto span = static_cast<std::int64_t>(plotWidth() * m_scale.nsPerPx);
    painter.setPen(m_theme->muted);
    painter.drawText(QRect(8, 2, plotLeft() - 12, text), Qt::AlignLeft | Qt::AlignVCenter,
        tr("%1 shown").arg(QString::fromStdString(base::formatDuration(span))));
    painter.drawText(
        QRect(8, text + 4, plotLeft() - 12, text), Qt::AlignLeft | Qt::AlignVCenter, tr("Findings"));
}

// Findings are never merged away: at least a mark of fixed size with the severity's letter and shape.
void TimelineView::paintFindings(QPainter& painter) {
    if (!m_report)
        return;
    painter.save();
    painter.setClipRect(plotLeft(), 0, plotWidth(), viewport()->height());
    painter.setRenderHint(QPainter::Antialiasing);
    const int size = fontMetrics().height();
    const int y = size + 5;
    const auto count = static_cast<int>(m_report->report.findings.size());
    // The first of the report on top: drawn last; the selected one after all.
    for (int k = count; k >= -1; --k) {
        const int number = k == -1 ? m_finding : k == m_finding ? -1 : k;
        if (number < 0 || number >= count)
            continue;
        const rules::Finding& finding = m_report->report.findings[static_cast<std::size_t>(number)];
        if (!finding.startNs)
            continue;
        const double from = plotLeft() + m_scale.xAt(*finding.startNs);
        const double to
            = std::max(from + 3, plotLeft() + m_scale.xAt(finding.endNs.value_or(*finding.startNs)));
        if (to < plotLeft() - size || from > plotLeft() + plotWidth() + size)
            continue;
        const QColor& color = m_theme->severity(finding.severity);
        const double left = std::max<double>(from, plotLeft() - 4);
        const double right = std::min<double>(to, plotLeft() + plotWidth() + 4);
        painter.fillRect(QRectF(left, y + size - 3, right - left, 3), color);
        if (number == m_finding) {
            QColor veil = color;
            // Where the finding fills the view there is nothing to set apart.
            veil.setAlpha(left > plotLeft() || right < plotLeft() + plotWidth() ? 28 : 0);
            painter.fillRect(QRectF(left, rowsTop(), right - left, viewport()->height() - rowsTop()), veil);
            painter.fillRect(QRectF(from, rowsTop(), 1, viewport()->height()), color);
            painter.fillRect(QRectF(to, rowsTop(), 1, viewport()->height()), color);
        }
        const QRectF box(
            std::clamp<double>(from, plotLeft(), plotLeft() + plotWidth() - size), y, size, size - 3);
        painter.setBrush(color);
        painter.setPen(number == m_finding ? QPen(m_theme->selection, 2) : QPen(m_theme->background, 1));
        QString letter = QStringLiteral("I");
        if (finding.severity == rules::Severity::error) {
            letter = QStringLiteral("E");
            painter.drawRect(box);
        } else if (finding.severity == rules::Severity::warning) {
            letter = QStringLiteral("W");
            QPainterPath shield;
            shield.moveTo(box.topLeft());
            shield.lineTo(box.topRight());
            shield.lineTo(box.right(), box.center().y());
            shield.lineTo(box.center().x(), box.bottom() + 2);
            shield.lineTo(box.left(), box.center().y());
            shield.closeSubpath();
            painter.drawPath(shield);
        } else {
            painter.drawEllipse(box);
        }
        painter.setPen(labelOn(color));
        painter.drawText(box.adjusted(-2, -2, 2, 0), Qt::AlignCenter, letter);
    }
    painter.restore();
}

void TimelineView::paintSelection(QPainter& painter) {
    if (!m_selected)
        return;
    const int index = m_layout.lineOf(m_selected.row);
    if (index < 0)
        return;
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    const int y = rowsTop() + line.y - verticalScrollBar()->value() + 2
        + static_cast<int>(m_selected.lane) * line.laneHeight;
    const double from = std::max(-3.0, m_scale.xAt(m_selected.startNs()));
    const double to = std::min<double>(plotWidth() + 3, std::max(from + 3, m_scale.xAt(m_selected.endNs())));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_theme->selection, 2));
    painter.drawRect(QRectF(plotLeft() + from, y, to - from, line.laneHeight - 1));
}

void TimelineView::paintMarks(QPainter& painter) {
    painter.setPen(QPen(m_theme->area, 1, Qt::DashLine));
    for (const std::int64_t mark : m_marks) {
        const double x = m_scale.xAt(mark);
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
    const double from = std::max(-2.0, m_scale.xAt(m_area->first));
    const double to = std::min<double>(plotWidth() + 2, m_scale.xAt(m_area->second));
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
