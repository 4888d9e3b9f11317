// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/flow.h"
#include "gui/model/search.h"
#include "gui/model/trace_session.h"
#include "gui/model/view_state.h"
#include "gui/timeline/row_layout.h"
#include "gui/timeline/strips.h"

#include <QAbstractScrollArea>
#include <QHash>
#include <QImage>
#include <QVariantAnimation>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

class QPainter;

namespace gd::gui {

// The timeline: a ruler, the findings' markers, then the rows. Painting only stretches strips that workers
// made and draws labels, selection and findings; it never touches a file and its cost does not grow with the
// trace.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    void setTheme(const Theme& theme);
    void setTrace(const TraceInfo& info, std::shared_ptr<const NameTable> names);
    void addRow(const RowPtr& row);
    void setReport(const ReportPtr& report);
    // Shown in the middle while there are no rows.
    void setEmptyText(const QString& text);
    // What the selected event hangs together with; drawn as arrows where both ends are on rows.
    void setFlow(const gd::gui::Flow& flow);
    void setFilter(const QString& text);
    // Rows that have nothing at the times in view are left out, as they are while the view moves.
    void setOnlyUsedRows(bool only);
    // How many hits of a search each row has: stands at the end of its title.
    void setHits(const std::vector<gd::gui::SearchResult::OfRow>& hits);

    // Zooming and jumping move there in a moment instead of at once.
    void setAnimated(bool animated) { m_animated = animated; }

    const TimeScale& scale() const { return m_scale; }
    const RowLayout& layout() const { return m_layout; }
    const StripStore& strips() const { return m_strips; }
    const TraceInfo& info() const { return m_info; }
    const EventKey& selectedEvent() const { return m_selected; }
    int selectedFinding() const { return m_finding; }
    std::map<int, QRectF> markers() const; // of the findings in view, by number: places in the viewport
    // Arrows of the selection: the event at the other end, and whether it comes before or after.
    struct Arrow {
        EventKey other;
        FlowKind kind = FlowKind::launch;
        bool out = false;
    };
    const std::vector<Arrow>& flow() const { return m_flow; }
    // Times that the user marked, ascending.
    const std::vector<std::int64_t>& marks() const { return m_marks; }
    void setMarks(std::vector<std::int64_t> marks);
    std::optional<std::pair<std::int64_t, std::int64_t>> area() const { return m_area; }
    int plotLeft() const; // x of the first pixel that shows time
    int plotWidth() const;
    int rowsTop() const; // y of the first row
    int lineTop(const RowLayout::Line& line) const; // its y as scrolled
    int currentLine() const { return m_currentLine; } // -1: none
    // What a screen reader says of a line and of the selected event: name, times, duration.
    QString lineText(int line) const;
    QString selectionText() const;
    QString curveText(const QPoint& position) const; // what the curve under it is at that time; empty: none
    const std::string& nameOf(std::uint32_t id) const { return (*m_names)[id].text; } // of events
    QRect placeOf(int line) const; // in the viewport; -1: of the selected event
    // The event under a position of the viewport.
    EventKey itemAt(const QPoint& position) const;
    // The event of a table's row that starts at this time, on the rows of a process; none: it is not drawn.
    EventKey findEvent(
        std::int64_t process, const std::string& table, std::int64_t rowId, std::int64_t startNs) const;
    // Waits until every strip of the present view is there.
    void settle();

public slots:
    void zoom(double factor); // around the pointer where it is over the rows, else around the middle
    void pan(double share); // of the width
    void fitAll();
    void back();
    void follow(const gd::gui::TimeScale& scale); // shows it, as another view does; nothing to go back to
    void showInterval(std::int64_t fromNs, std::int64_t toNs, double margin);
    void showProcess(qint64 process); // scrolls so that its rows are seen, from the first on
    void selectFinding(int number); // -1: none; zooms to it
    void selectEvent(const gd::gui::EventKey& event);
    void stepEvent(int direction); // along the row
    void stepRow(int direction);
    void firstRow(); // the first one that has events
    void centreSelection(); // again: fits it
    void stepFlow(int direction); // to what the selection leads to (1) or comes from (-1)
    void areaOfSelection();
    void clearSelection();
    void toggleProcess(); // of the current row
    void togglePin(); // of the current row
    void toggleMark(); // at the selection's start, else in the middle of the view
    void stepMark(int direction);
    void setArea(std::int64_t fromNs, std::int64_t toNs);

signals:
    void scaleChanged();
    void rowsChanged();
    void eventSelected(const gd::gui::EventKey& event);
    void findingPicked(int number); // with the pointer
    void areaChanged(); // also when it is gone
    void marksChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    // A jump can be gone back from.
    enum class Motion { direct, smooth, jump };
    void setScale(const TimeScale& scale, Motion motion);
    void showBetween(double share);
    void requestStrips();
    void rearrange();
    void rearrangeInPlace();
    void ensureVisible(int line);
    void describeSelection();
    QString eventText(const EventKey& event) const;
    int areaEdgeAt(int x) const; // -1 none, 0 its start, 1 its end
    int findingAt(const QPoint& position) const;
    std::int64_t snapped(int x, int y) const; // to an event's edge within 5 px

    void paintRuler(QPainter& painter);
    void paintRows(QPainter& painter);
    using Grounds = std::array<QImage, 2>; // of every second line
    QImage groundLine(const QColor& ground) const;
    QImage withStrip(const QImage& ground, const Strip& strip, std::size_t lane) const;
    void fillWith(QPainter& painter, const QRect& place, const QImage& line) const;
    void paintLine(QPainter& painter, int index, const Grounds& grounds);
    void paintLane(
        QPainter& painter, const RowLayout::Line& line, std::size_t lane, int y, const QImage& ground);
    void paintCurve(QPainter& painter, const TrackRow& row, const QRect& place) const;
    const QImage& labelOf(std::uint32_t name, quint32 steps, bool hatched, const QFontMetrics& font);
    void paintLabels(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y);
    void paintHatch(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y);
    int paintHitCount(QPainter& painter, const QRect& box, std::int64_t count);
    void paintHeader(QPainter& painter, const RowLayout::Line& line, int y, bool current);
    void paintFindings(QPainter& painter);
    void paintFinding(QPainter& painter, int number, const QRectF& box, int size);
    void paintFindingVeil(QPainter& painter, const rules::Finding& finding);
    static bool concerns(const rules::Finding& finding, std::int64_t process);
    // Its first and last pixel in the viewport; none: not in view, or without a time.
    std::optional<std::pair<double, double>> findingSpan(const rules::Finding& finding) const;
    void paintSelection(QPainter& painter);
    void paintFlow(QPainter& painter);
    void paintArrow(QPainter& painter, const QRectF& from, const QRectF& to, FlowKind kind);
    void forgetFlow();
    std::optional<QRectF> rectOf(const EventKey& event) const; // in the viewport; none: its row is not shown
    void paintWaits(QPainter& painter, const RowLayout::Line& line, const Lane& lane, int y);
    void hatch(QPainter& painter, const QRectF& bar, const QColor& color);
    void paintArea(QPainter& painter);
    void paintMarks(QPainter& painter);

    const Theme* m_theme = nullptr;
    TraceInfo m_info;
    std::shared_ptr<const NameTable> m_names;
    ReportPtr m_report;
    QString m_emptyText;
    RowLayout m_layout;
    StripStore m_strips;
    TimeScale m_scale; // of a logical pixel
    TimeScale m_shown; // what is painted: on the way to m_scale while the animation runs
    TimeScale m_left; // where the animation began
    QVariantAnimation m_animation;
    bool m_animated = false;
    ZoomHistory m_history;
    bool m_onlyUsedRows = false;
    bool m_fitted = true; // still shows everything: goes on doing so when the size changes

    EventKey m_selected;
    std::vector<Arrow> m_flow;
    bool m_flowKnown = false; // of the present selection
    int m_flowStep = 0; // wanted before the flow was known
    int m_finding = -1;
    int m_currentLine = -1;
    std::optional<std::pair<std::int64_t, std::int64_t>> m_area;
    std::vector<std::int64_t> m_marks;
    enum class Drag { none, area, pan };
    Drag m_drag = Drag::none;
    QPoint m_dragStart;
    TimeScale m_dragScale;
    std::int64_t m_dragNs = 0;
    bool m_moved = false;
    std::map<const TrackRow*, std::int64_t> m_hits;
    QHash<quint64, QImage> m_labels; // by name, width in steps of 8 px, and whether on hatching
    double m_labelRatio = 1;
};

} // namespace gd::gui
