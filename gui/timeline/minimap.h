// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/mailbox.h"
#include "gui/model/workers.h"
#include "gui/timeline/timeline_view.h"

#include <QTimer>
#include <QWidget>

#include <set>

namespace gd::gui {

// The whole trace in one thin line: how busy the device is, a tick for each finding, and a frame around what
// the timeline shows. A click or drag moves the timeline there; the frame's edges can be dragged.
class Minimap : public QWidget {
    Q_OBJECT
public:
    explicit Minimap(TimelineView* timeline);
    ~Minimap() override;

    void setTheme(const Theme& theme);
    void setReport(const ReportPtr& report);
    QSize sizeHint() const override;
    void settle(); // counts now and waits for it
    // Share of each pixel in which the busiest device row is busy, once it was counted.
    const std::vector<float>& busy() const { return m_busy; }

signals:
    void counted();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

private:
    TimeScale scale() const; // of a device pixel
    void count();
    void moveTo(double x);
    void dragTo(double x);

    TimelineView* m_timeline;
    enum class Drag { whole, start, end };
    Drag m_drag = Drag::whole;
    const Theme* m_theme;
    ReportPtr m_report;
    std::vector<float> m_busy;
    std::set<RowPtr> m_counted; // rows that m_busy knows of, at this scale
    TimeScale m_countedScale;
    QTimer m_soon; // rows arrive one by one: they are counted together
    Mailbox m_mail;
    Workers m_pool{1};
    std::shared_ptr<std::atomic<int>> m_generation;
};

} // namespace gd::gui
