// SPDX-License-Identifier: Apache-2.0
// Findings on the timeline: their markers under the ruler, and the way to one of them.
#include "gui/timeline/timeline_view.h"

#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <set>

namespace gd::gui {
namespace {

// Markers of one moment stand beside each other, so many at most: further ones stand on the last of them.
constexpr int kMostBeside = 12;
constexpr double kBetweenMarkers = 2;

void drawMarker(QPainter& painter, const QRectF& box, rules::Severity severity) {
    QString letter = QStringLiteral("I");
    if (severity == rules::Severity::error) {
        letter = QStringLiteral("E");
        painter.drawRect(box);
    } else if (severity == rules::Severity::warning) {
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
    painter.setPen(labelOn(painter.brush().color()));
    painter.drawText(box.adjusted(-2, -2, 2, 0), Qt::AlignCenter, letter);
}

} // namespace

std::optional<std::pair<double, double>> TimelineView::findingSpan(const rules::Finding& finding) const {
    if (!finding.startNs)
        return std::nullopt;
    const int size = fontMetrics().height();
    const double from = plotLeft() + m_shown.xAt(*finding.startNs);
    const double to = std::max(from + 3, plotLeft() + m_shown.xAt(finding.endNs.value_or(*finding.startNs)));
    if (to < plotLeft() - size || from > plotLeft() + plotWidth() + size)
        return std::nullopt;
    return std::pair(from, to);
}

// The selected one has the first choice of place, then they go in the order of the report.
std::map<int, QRectF> TimelineView::markers() const {
    std::map<int, QRectF> out;
    if (!m_report)
        return out;
    const double size = fontMetrics().height();
    const double most = plotLeft() + plotWidth() - size;
    const auto count = static_cast<int>(m_report->report.findings.size());
    std::set<double> taken;
    const auto place = [&](int number) {
        const auto span = findingSpan(m_report->report.findings[static_cast<std::size_t>(number)]);
        if (!span)
            return;
        double x = std::clamp<double>(span->first, plotLeft(), most);
        for (int tries = 0; tries < kMostBeside; ++tries) {
            const auto near = taken.upper_bound(x - size - kBetweenMarkers);
            if (near == taken.end() || *near >= x + size + kBetweenMarkers)
                break;
            x = std::min(*near + size + kBetweenMarkers, most);
        }
        taken.insert(x);
        out[number] = QRectF(x, fontMetrics().height() + 5, size, size - 3);
    };
    if (m_finding >= 0 && m_finding < count)
        place(m_finding);
    for (int number = 0; number < count; ++number) {
        if (number != m_finding)
            place(number);
    }
    return out;
}

int TimelineView::findingAt(const QPoint& position) const {
    if (position.y() >= rowsTop() || position.x() < plotLeft())
        return -1;
    for (const auto& [number, box] : markers()) {
        if (box.adjusted(-1, 0, 0, rowsTop() - box.bottom()).contains(position))
            return number;
    }
    return -1;
}

void TimelineView::paintFindings(QPainter& painter) {
    if (!m_report)
        return;
    painter.save();
    painter.setClipRect(plotLeft(), 0, plotWidth(), viewport()->height());
    painter.setRenderHint(QPainter::Antialiasing);
    const int size = fontMetrics().height();
    const std::map<int, QRectF> boxes = markers();
    // The first of the report on top: drawn last; the selected one after all.
    for (auto at = boxes.rbegin(); at != boxes.rend(); ++at) {
        if (at->first != m_finding)
            paintFinding(painter, at->first, at->second, size);
    }
    if (const auto selected = boxes.find(m_finding); selected != boxes.end()) {
        paintFindingVeil(painter, m_report->report.findings[static_cast<std::size_t>(m_finding)]);
        paintFinding(painter, m_finding, selected->second, size);
    }
    painter.restore();
}

void TimelineView::paintFinding(QPainter& painter, int number, const QRectF& box, int size) {
    const rules::Finding& finding = m_report->report.findings[static_cast<std::size_t>(number)];
    const auto span = findingSpan(finding);
    if (!span)
        return;
    const QColor& color = m_theme->severity(finding.severity);
    const double left = std::max<double>(span->first, plotLeft() - 4);
    const double right = std::min<double>(span->second, plotLeft() + plotWidth() + 4);
    painter.fillRect(QRectF(left, 2 * size + 2, right - left, 3), color);
    painter.setBrush(color);
    painter.setPen(number == m_finding ? QPen(m_theme->selection, 2) : QPen(m_theme->background, 1));
    drawMarker(painter, box, finding.severity);
}

// Over the rows of the processes that have the finding, between lines that go through all.
void TimelineView::paintFindingVeil(QPainter& painter, const rules::Finding& finding) {
    const auto span = findingSpan(finding);
    if (!span)
        return;
    const double left = std::max<double>(span->first, plotLeft() - 4);
    const double right = std::min<double>(span->second, plotLeft() + plotWidth() + 4);
    const QColor& color = m_theme->severity(finding.severity);
    const int height = viewport()->height() - rowsTop();
    painter.save();
    painter.setClipRect(plotLeft(), rowsTop(), plotWidth(), height);
    // Where the finding fills the view there is nothing to set apart.
    if (left > plotLeft() || right < plotLeft() + plotWidth()) {
        QColor veil = color;
        veil.setAlpha(28);
        for (const RowLayout::Line& line : m_layout.lines()) {
            if (concerns(finding, line.process))
                painter.fillRect(QRectF(left, lineTop(line), right - left, line.height), veil);
        }
    }
    painter.fillRect(QRectF(span->first, rowsTop(), 1, height), color);
    painter.fillRect(QRectF(span->second, rowsTop(), 1, height), color);
    painter.restore();
}

// One whose processes are not known concerns all.
bool TimelineView::concerns(const rules::Finding& finding, std::int64_t process) {
    return finding.processes.empty() || finding.processId.value() == process
        || std::any_of(finding.processes.begin(), finding.processes.end(),
            [process](const base::ProcessId& id) { return id.value() == process; });
}

void TimelineView::selectFinding(int number) {
    m_finding = number;
    viewport()->update();
    if (!m_report || number < 0 || number >= static_cast<int>(m_report->report.findings.size()))
        return;
    const rules::Finding& finding = m_report->report.findings[static_cast<std::size_t>(number)];
    if (!finding.startNs)
        return;
    const std::int64_t end = finding.endNs.value_or(*finding.startNs);
    // A third of the width for the finding, the rest for what is around it; a moment gets 20 us.
    const std::int64_t around = std::max<std::int64_t>(0, 20'000 - (end - *finding.startNs)) / 2;
    showInterval(*finding.startNs - around, end + around, 1.0 / 3);
    showProcess(finding.processId.value());
}

void TimelineView::showProcess(qint64 process) {
    const auto& lines = m_layout.lines();
    const auto isOfIt
        = [process](const RowLayout::Line& line) { return line.process == process && !line.pinned; };
    const auto first = std::find_if(lines.begin(), lines.end(), isOfIt);
    if (first == lines.end())
        return;
    const auto past = std::find_if_not(first, lines.end(), isOfIt);
    QScrollBar* const bar = verticalScrollBar();
    const int top = first->y - m_layout.pinnedHeight(); // scrolled so far, it stands under the pinned rows
    const int bottom = (past - 1)->y + (past - 1)->height;
    if (top < bar->value() || bottom > bar->value() + bar->pageStep())
        bar->setValue(top);
}

} // namespace gd::gui
