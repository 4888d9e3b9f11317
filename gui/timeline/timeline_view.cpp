// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/timeline_view.h"

#include "gui/timeline/timeline_accessible.h"

#include <QCoreApplication>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

constexpr int kAnimationMs = 120;

} // namespace

TimelineView::TimelineView(QWidget* parent)
    : QAbstractScrollArea(parent) {
    makeTimelineAccessible(); // before anything asks for an interface of this
    setTheme(Theme::of(palette()));
    setObjectName(QStringLiteral("timeline"));
    setAccessibleName(tr("Timeline"));
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    m_animation.setDuration(kAnimationMs);
    m_animation.setStartValue(0.0);
    m_animation.setEndValue(1.0);
    connect(&m_animation, &QVariantAnimation::valueChanged, this,
        [this](const QVariant& share) { showBetween(share.toDouble()); });

    connect(&m_strips, &StripStore::changed, viewport(), qOverload<>(&QWidget::update));
}

void TimelineView::setTheme(const Theme& theme) {
    m_theme = &theme;
    m_labels.clear();
    m_strips.clear();
    requestStrips();
}

void TimelineView::setTrace(const TraceInfo& info, std::shared_ptr<const NameTable> names) {
    m_strips.clear();
    m_layout.clear();
    m_labels.clear();
    m_hits.clear();
    m_history.clear();
    m_selected = {};
    forgetFlow();
    m_area.reset();
    m_marks.clear();
    m_report.reset();
    m_finding = -1;
    m_currentLine = -1;
    m_info = info;
    m_names = std::move(names);
    m_layout.setProcesses(info.processes);
    m_fitted = true;
    rearrange();
    setScale(TimeScale::fit(info.startNs, info.endNs, plotWidth(), 0.01), Motion::direct);
}

void TimelineView::addRow(const RowPtr& row) {
    const RowPtr current
        = m_currentLine >= 0 ? m_layout.lines()[static_cast<std::size_t>(m_currentLine)].row : nullptr;
    m_layout.add(row);
    rearrange();
    m_currentLine = m_layout.lineOf(current);
    emit rowsChanged();
}

void TimelineView::setReport(const ReportPtr& report) {
    m_report = report;
    m_finding = -1;
    viewport()->update();
}

void TimelineView::setEmptyText(const QString& text) {
    m_emptyText = text;
    viewport()->update();
}

void TimelineView::setFilter(const QString& text) {
    m_layout.setFilter(text);
    m_currentLine = -1;
    rearrange();
}

void TimelineView::setHits(const std::vector<SearchResult::OfRow>& hits) {
    m_hits.clear();
    for (const SearchResult::OfRow& of : hits)
        m_hits[of.row.get()] = of.count;
    viewport()->update();
}

int TimelineView::plotLeft() const {
    return fontMetrics().averageCharWidth() * 40;
}

int TimelineView::plotWidth() const {
    return std::max(1, viewport()->width() - plotLeft());
}

int TimelineView::rowsTop() const {
    return 2 * fontMetrics().height() + 9;
}

int TimelineView::lineTop(const RowLayout::Line& line) const {
    return rowsTop() + line.y - (line.pinned ? 0 : verticalScrollBar()->value());
}

void TimelineView::rearrange() {
    m_layout.setSpan(m_onlyUsedRows ? std::optional(std::pair(m_scale.startNs, m_scale.endNs(plotWidth())))
                                    : std::nullopt);
    m_layout.arrange(fontMetrics().height(), viewport()->height() - rowsTop());
    const int page = std::max(1, viewport()->height() - rowsTop());
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(fontMetrics().height());
    verticalScrollBar()->setRange(0, std::max(0, m_layout.height() - page));
    requestStrips();
    viewport()->update();
}

void TimelineView::setOnlyUsedRows(bool only) {
    m_onlyUsedRows = only;
    rearrangeInPlace();
}

// What stood at the top and what is current stay where they are, if they are still shown.
void TimelineView::rearrangeInPlace() {
    const auto& lines = m_layout.lines();
    const auto isSame = [](const RowLayout::Line& a, const RowLayout::Line& b) {
        return a.row == b.row && a.process == b.process;
    };
    const auto find = [&](const RowLayout::Line& wanted) {
        return std::find_if(
            lines.begin(), lines.end(), [&](const RowLayout::Line& line) { return isSame(line, wanted); });
    };
    std::optional<RowLayout::Line> current;
    if (m_currentLine >= 0)
        current = lines[static_cast<std::size_t>(m_currentLine)];
    // The first line in sight, and those above it in case that it goes.
    std::vector<std::pair<RowLayout::Line, int>> anchors;
    for (const RowLayout::Line& line : lines) {
        if (!line.pinned)
            anchors.emplace_back(line, lineTop(line));
        if (!line.pinned && lineTop(line) >= rowsTop() + m_layout.pinnedHeight())
            break;
    }
    rearrange();
    m_currentLine = -1;
    if (current) {
        if (const auto at = find(*current); at != lines.end())
            m_currentLine = static_cast<int>(at - lines.begin());
    }
    for (auto anchor = anchors.rbegin(); anchor != anchors.rend(); ++anchor) {
        const auto at = find(anchor->first);
        if (at == lines.end() || at->pinned)
            continue;
        verticalScrollBar()->setValue(verticalScrollBar()->value() + lineTop(*at) - anchor->second);
        return;
    }
}

void TimelineView::setScale(const TimeScale& scale, Motion motion) {
    if (scale == m_scale)
        return;
    if (motion == Motion::jump)
        m_history.push(m_scale);
    m_scale = scale;
    if (m_onlyUsedRows)
        rearrangeInPlace();
    if (m_animated && isVisible() && motion != Motion::direct) {
        m_left = m_shown;
        m_animation.stop();
        m_animation.start();
    } else {
        m_animation.stop();
        m_shown = m_scale;
    }
    requestStrips();
    viewport()->update();
    emit scaleChanged();
}

// Scales by equal factors in equal times; what stands at one place at both ends stands there all the way.
void TimelineView::showBetween(double share) {
    const double ratio = m_scale.nsPerPx / m_left.nsPerPx;
    m_shown.nsPerPx = m_left.nsPerPx * std::pow(ratio, share);
    const double way = std::abs(ratio - 1) < 1e-9
        ? share
        : (m_shown.nsPerPx - m_left.nsPerPx) / (m_scale.nsPerPx - m_left.nsPerPx);
    m_shown.startNs
        = m_left.startNs + std::llround(static_cast<double>(m_scale.startNs - m_left.startNs) * way);
    if (share >= 1)
        m_shown = m_scale;
    viewport()->update();
}

// Asks for the strips of the rows in sight that do not show the present view exactly.
void TimelineView::requestStrips() {
    if (!m_names)
        return;
    const double ratio = devicePixelRatioF();
    const TimeScale device = {m_scale.startNs, m_scale.nsPerPx / ratio};
    const auto width = static_cast<int>(std::ceil(plotWidth() * ratio));
    const int scroll = verticalScrollBar()->value();
    std::vector<StripStore::Wish> wishes;
    bool missing = false;
    for (const RowLayout::Line& line : m_layout.lines()) {
        const RowPtr& row = line.row ? line.row : line.busy;
        const int y = line.y - (line.pinned ? 0 : scroll);
        if (!row || y + line.height < 0 || y > viewport()->height())
            continue;
        const Strip* strip = m_strips.find(row.get());
        if (strip != nullptr && StripStore::covers(*strip, device, width))
            continue;
        missing = true;
        wishes.push_back({row, static_cast<int>((line.laneHeight - 1) * ratio)});
    }
    if (missing)
        m_strips.request(wishes, device, width, m_names, *m_theme);
}

void TimelineView::settle() {
    requestStrips();
    while (!m_strips.idle())
        m_strips.waitForDone();
}

void TimelineView::zoom(double factor) {
    double x = plotWidth() / 2.0;
    const QPoint pointer = viewport()->mapFromGlobal(QCursor::pos());
    if (viewport()->underMouse() && pointer.x() > plotLeft())
        x = pointer.x() - plotLeft();
    m_fitted = false;
    setScale(m_scale.zoomed(factor, x), Motion::smooth);
}

void TimelineView::pan(double share) {
    m_fitted = false;
    setScale(m_scale.panned(share * plotWidth()), Motion::smooth);
}

void TimelineView::fitAll() {
    m_fitted = true;
    setScale(TimeScale::fit(m_info.startNs, m_info.endNs, plotWidth(), 0.01), Motion::jump);
}

void TimelineView::back() {
    if (const auto past = m_history.back()) {
        m_fitted = false;
        setScale(*past, Motion::smooth);
    }
}

void TimelineView::follow(const TimeScale& scale) {
    m_fitted = false;
    setScale(scale, Motion::direct);
}

void TimelineView::showInterval(std::int64_t fromNs, std::int64_t toNs, double margin) {
    m_fitted = false;
    setScale(TimeScale::fit(fromNs, toNs, plotWidth(), margin), Motion::jump);
}

void TimelineView::selectEvent(const EventKey& event) {
    m_selected = event;
    forgetFlow();
    if (event && (event.endNs() < m_scale.startNs || event.startNs() > m_scale.endNs(plotWidth())))
        setScale(m_scale.panned(m_scale.xAt(event.startNs()) - plotWidth() / 3.0), Motion::smooth);
    m_currentLine = m_layout.lineOf(event.row);
    ensureVisible(m_currentLine);
    describeSelection();
    viewport()->update();
    emit eventSelected(event);
}

EventKey TimelineView::findEvent(
    std::int64_t process, const std::string& table, std::int64_t rowId, std::int64_t startNs) const {
    for (const RowPtr& row : m_layout.rows()) {
        if (row->process != process || row->kind == RowKind::comm)
            continue;
        for (std::size_t l = 0; l < row->lanes.size(); ++l) {
            const Lane& lane = *row->lanes[l];
            for (std::size_t i = lane.lowerBound(startNs); i < lane.size() && lane.start(i) == startNs; ++i) {
                const TrackRow::Place place = row->place(lane.row(i));
                if (place.rowId == rowId && place.table == table)
                    return {row, l, i};
            }
        }
    }
    return {};
}

void TimelineView::stepEvent(int direction) {
    if (!m_selected) {
        stepRow(0);
        return;
    }
    const Lane& lane = m_selected.in();
    const auto next = static_cast<std::ptrdiff_t>(m_selected.index) + direction;
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(lane.size()))
        selectEvent({m_selected.row, m_selected.lane, static_cast<std::size_t>(next)});
}

// The row above or below, and on it the event nearest to the middle of the view.
void TimelineView::stepRow(int direction) {
    const auto& lines = m_layout.lines();
    const int count = static_cast<int>(lines.size());
    const int line = m_currentLine < 0 ? 0 : m_currentLine + direction;
    if (line < 0 || line >= count)
        return;
    const RowPtr& row = lines[static_cast<std::size_t>(line)].row;
    if (!row || row->lanes.empty()) { // a heading, or a curve
        const bool left = static_cast<bool>(m_selected);
        m_selected = {};
        forgetFlow();
        m_currentLine = line;
        ensureVisible(line);
        describeSelection();
        viewport()->update();
        if (left)
            emit eventSelected(m_selected);
        return;
    }
    const std::int64_t middle
        = m_selected ? (m_selected.startNs() + m_selected.endNs()) / 2 : m_scale.nsAt(plotWidth() / 2.0);
    const Lane& lane = *row->lanes.front();
    selectEvent({row, 0, std::min(lane.firstEndingAfter(middle), lane.size() - 1)});
}

void TimelineView::firstRow() {
    for (std::size_t i = 0; i < m_layout.lines().size(); ++i) {
        if (const RowPtr& row = m_layout.lines()[i].row; row && !row->lanes.empty()) {
            m_currentLine = static_cast<int>(i);
            stepRow(0);
            return;
        }
    }
}

void TimelineView::centreSelection() {
    if (!m_selected && m_area)
        showInterval(m_area->first, m_area->second, 0.1);
    if (!m_selected)
        return;
    const std::int64_t middle = m_selected.startNs() + (m_selected.endNs() - m_selected.startNs()) / 2;
    const TimeScale centred
        = {middle - static_cast<std::int64_t>(plotWidth() / 2.0 * m_scale.nsPerPx), m_scale.nsPerPx};
    m_fitted = false;
    if (centred == m_scale)
        showInterval(m_selected.startNs(), m_selected.endNs(), 0.25);
    else
        setScale(centred, Motion::jump);
}

void TimelineView::setMarks(std::vector<std::int64_t> marks) {
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    m_marks = std::move(marks);
    viewport()->update();
}

void TimelineView::toggleMark() {
    const std::int64_t at = m_selected ? m_selected.startNs() : m_scale.nsAt(plotWidth() / 2.0);
    // The very mark at the start of an event; without one the mark that is seen in the middle.
    const auto near = std::find_if(m_marks.begin(), m_marks.end(), [&](std::int64_t mark) {
        return m_selected ? mark == at : std::abs(m_scale.xAt(mark) - m_scale.xAt(at)) < 1;
    });
    if (near != m_marks.end())
        m_marks.erase(near);
    else
        m_marks.insert(std::upper_bound(m_marks.begin(), m_marks.end(), at), at);
    viewport()->update();
    emit marksChanged();
}

// To the next mark beyond the middle of the view; goes round.
void TimelineView::stepMark(int direction) {
    if (m_marks.empty())
        return;
    const double middle = plotWidth() / 2.0;
    std::int64_t target = direction > 0 ? m_marks.front() : m_marks.back();
    if (direction > 0) {
        const auto next = std::find_if(m_marks.begin(), m_marks.end(),
            [&](std::int64_t mark) { return m_scale.xAt(mark) > middle + 1; });
        target = next == m_marks.end() ? target : *next;
    } else {
        const auto next = std::find_if(m_marks.rbegin(), m_marks.rend(),
            [&](std::int64_t mark) { return m_scale.xAt(mark) < middle - 1; });
        target = next == m_marks.rend() ? target : *next;
    }
    m_fitted = false;
    setScale(m_scale.panned(m_scale.xAt(target) - middle), Motion::jump);
}

void TimelineView::areaOfSelection() {
    if (m_selected)
        setArea(m_selected.startNs(), m_selected.endNs());
}

void TimelineView::setArea(std::int64_t fromNs, std::int64_t toNs) {
    m_area = std::minmax(fromNs, toNs);
    viewport()->update();
    emit areaChanged();
}

void TimelineView::forgetFlow() {
    m_flow.clear();
    m_flowKnown = false;
    m_flowStep = 0;
}

void TimelineView::clearSelection() {
    m_selected = {};
    forgetFlow();
    m_finding = -1;
    m_area.reset();
    describeSelection();
    viewport()->update();
    emit eventSelected({});
    emit areaChanged();
}

void TimelineView::toggleProcess() {
    if (m_currentLine < 0)
        return;
    const std::int64_t process = m_layout.lines()[static_cast<std::size_t>(m_currentLine)].process;
    m_layout.toggle(process);
    m_currentLine = -1;
    rearrange();
    for (std::size_t i = 0; i < m_layout.lines().size() && m_currentLine < 0; ++i) {
        if (m_layout.lines()[i].process == process)
            m_currentLine = static_cast<int>(i);
    }
}

void TimelineView::togglePin() {
    if (m_currentLine < 0)
        return;
    const RowPtr row = m_layout.lines()[static_cast<std::size_t>(m_currentLine)].row;
    if (!row)
        return;
    m_layout.togglePin(row);
    rearrange();
    m_currentLine = m_layout.lineOf(row);
    ensureVisible(m_currentLine);
}

void TimelineView::ensureVisible(int line) {
    if (line < 0)
        return;
    const RowLayout::Line& at = m_layout.lines()[static_cast<std::size_t>(line)];
    if (at.pinned)
        return;
    QScrollBar* bar = verticalScrollBar();
    const int first = at.y - m_layout.pinnedHeight(); // scrolled so far, it stands under the pinned rows
    if (first < bar->value())
        bar->setValue(first);
    else if (at.y + at.height > bar->value() + bar->pageStep())
        bar->setValue(std::min(first, at.y + at.height - bar->pageStep()));
}

} // namespace gd::gui
