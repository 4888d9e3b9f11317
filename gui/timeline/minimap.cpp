// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/minimap.h"

#include <QCoreApplication>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

constexpr double kEdgePx = 4; // an edge of the frame this near is meant

} // namespace

Minimap::Minimap(TimelineView* timeline)
    : m_timeline(timeline)
    , m_theme(&Theme::of(palette()))
    , m_generation(std::make_shared<std::atomic<int>>(0)) {
    setObjectName(QStringLiteral("minimap"));
    setAccessibleName(tr("Whole trace"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_soon.setSingleShot(true);
    m_soon.setInterval(60);
    connect(&m_soon, &QTimer::timeout, this, &Minimap::count);
    connect(timeline, &TimelineView::rowsChanged, this, [this] {
        if (!m_soon.isActive())
            m_soon.start();
    });
    connect(timeline, &TimelineView::scaleChanged, this, qOverload<>(&QWidget::update));
}

Minimap::~Minimap() {
    ++*m_generation;
    m_pool.clear();
    m_pool.waitForDone();
}

void Minimap::setTheme(const Theme& theme) {
    m_theme = &theme;
    update();
}

void Minimap::setReport(const ReportPtr& report) {
    m_report = report;
    update();
}

QSize Minimap::sizeHint() const {
    return {200, fontMetrics().height() + 8};
}

TimeScale Minimap::scale() const {
    const TraceInfo& info = m_timeline->info();
    return TimeScale::fit(info.startNs, info.endNs, width() * devicePixelRatioF());
}

// Rows come one by one while a trace is loading: only new ones are counted, on top of the others.
void Minimap::count() {
    const auto pixels = static_cast<std::size_t>(std::max(0.0, width() * devicePixelRatioF()));
    const auto& all = m_timeline->layout().rows();
    const auto known = std::count_if(
        all.begin(), all.end(), [this](const RowPtr& row) { return m_counted.contains(row); });
    const bool otherTrace = static_cast<std::size_t>(known) != m_counted.size();
    if (otherTrace || m_countedScale != scale() || m_busy.size() != pixels) {
        m_countedScale = scale();
        m_busy.assign(pixels, 0);
        m_counted.clear();
    }
    std::vector<RowPtr> rows;
    for (const RowPtr& row : all) {
        if (showsDeviceWork(row->kind, row->measured) && !m_counted.contains(row))
            rows.push_back(row);
    }
    const int generation = ++*m_generation;
    m_pool.clear();
    m_pool.start([this, rows, scale = m_countedScale, pixels, generation, current = m_generation] {
        std::vector<float> busy(pixels);
        for (const RowPtr& row : rows) {
            for (const auto& lane : row->lanes) {
                if (*current != generation)
                    return;
                const std::vector<Cell> cells = makeCells(*lane, scale, static_cast<int>(pixels));
                for (std::size_t x = 0; x < cells.size(); ++x)
                    busy[x] = std::max(
                        busy[x], static_cast<float>(cells[x].busyNs) / static_cast<float>(cells[x].spanNs));
            }
        }
        m_mail.post([this, rows, busy = std::move(busy), generation] {
            if (*m_generation != generation)
                return;
            for (std::size_t x = 0; x < busy.size(); ++x)
                m_busy[x] = std::max(m_busy[x], busy[x]);
            m_counted.insert(rows.begin(), rows.end());
            update();
            emit counted();
        });
    });
}

void Minimap::settle() {
    m_soon.stop();
    count();
    m_pool.waitForDone();
    m_mail.deliver();
}

void Minimap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), m_theme->background);
    if (m_timeline->layout().rows().empty())
        return;
    const double ratio = devicePixelRatioF();
    const int bottom = height() - 4;
    for (std::size_t x = 0; x < m_busy.size(); ++x) {
        if (m_busy[x] <= 0)
            continue;
        const double high = std::max(1.0, static_cast<double>(m_busy[x]) * (bottom - 2));
        painter.fillRect(QRectF(static_cast<double>(x) / ratio, bottom - high, 1 / ratio, high),
            m_theme->bar(Category::compute));
    }
    const TimeScale whole = scale();
    if (m_report) {
        for (const rules::Finding& finding : m_report->report.findings) {
            if (!finding.startNs)
                continue;
            const double from = whole.xAt(*finding.startNs) / ratio;
            const double to = whole.xAt(finding.endNs.value_or(*finding.startNs)) / ratio;
            painter.fillRect(
                QRectF(from, bottom, std::max(3.0, to - from), 4), m_theme->severity(finding.severity));
        }
    }
    const TimeScale& shown = m_timeline->scale();
    const double left = std::max(0.0, whole.xAt(shown.startNs) / ratio);
    const double right = std::min<double>(width(), whole.xAt(shown.endNs(m_timeline->plotWidth())) / ratio);
    QColor veil = m_theme->area;
    veil.setAlpha(40);
    const QRectF frame(left, 0, std::max(3.0, right - left) - 1, height() - 1);
    painter.fillRect(frame, veil);
    painter.setPen(m_theme->area);
    painter.drawRect(frame);
}

void Minimap::resizeEvent(QResizeEvent*) {
    m_soon.start();
}

void Minimap::moveTo(double x) {
    const TimeScale whole = scale();
    const double span = m_timeline->scale().nsPerPx * m_timeline->plotWidth();
    const std::int64_t middle = whole.nsAt(x * devicePixelRatioF());
    m_timeline->showInterval(
        middle - static_cast<std::int64_t>(span / 2), middle + static_cast<std::int64_t>(span / 2), 0);
}

void Minimap::dragTo(double x) {
    if (m_drag == Drag::whole) {
        moveTo(x);
        return;
    }
    const std::int64_t at = scale().nsAt(x * devicePixelRatioF());
    const TimeScale& shown = m_timeline->scale();
    const std::int64_t from = m_drag == Drag::start ? at : shown.startNs;
    const std::int64_t to = m_drag == Drag::end ? at : shown.endNs(m_timeline->plotWidth());
    if (from < to)
        m_timeline->showInterval(from, to, 0);
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    const TimeScale& shown = m_timeline->scale();
    const double ratio = devicePixelRatioF();
    const double left = scale().xAt(shown.startNs) / ratio;
    const double right = scale().xAt(shown.endNs(m_timeline->plotWidth())) / ratio;
    const double x = event->position().x();
    m_drag = Drag::whole;
    // A frame of a few pixels has no edges of its own.
    if (right - left > 4 * kEdgePx && std::abs(x - left) <= kEdgePx)
        m_drag = Drag::start;
    else if (right - left > 4 * kEdgePx && std::abs(x - right) <= kEdgePx)
        m_drag = Drag::end;
    if (m_drag == Drag::whole)
        moveTo(x);
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton)
        dragTo(event->position().x());
}

} // namespace gd::gui
