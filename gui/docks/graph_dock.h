// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/graph_drawing.h"
#include "gui/timeline/theme.h"

#include <QDockWidget>
#include <QPainterPath>
#include <QWidget>

#include <memory>

class QLabel;
class QScrollArea;

namespace gd::gui {

using GraphPtr = std::shared_ptr<const GraphDrawing>;

// The nodes and edges of one graph, in layers from left to right. Colour: share of the graph's time; a thick
// edge: the critical path; shape: rounded kernels, straight memory work, slanted communication. Arrow keys
// walk along the edges (left, right) and inside a layer (up, down).
class GraphView : public QWidget {
    Q_OBJECT
public:
    explicit GraphView(const Theme* theme);

    void setTheme(const Theme& theme);
    void setGraph(GraphPtr graph); // null: none
    const GraphPtr& graph() const { return m_graph; }
    void select(std::size_t node);
    QRect nodeRect(std::size_t node) const;
    QPainterPath pathOf(std::size_t from, std::size_t to) const; // of an edge

signals:
    void picked(std::size_t node); // by the user
    void shown(const QRect& rect); // should be in sight

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    int nodeAt(const QPoint& position) const; // -1: none
    QString nodeText(std::size_t node) const;
    static QString labelOf(const GraphDrawing::Node& node);
    void pick(std::size_t node);

    const Theme* m_theme;
    GraphPtr m_graph;
    int m_selected = -1;
};

class GraphDock : public QDockWidget {
    Q_OBJECT
public:
    GraphDock(const Theme* theme, QWidget* parent);
    void setGraph(GraphPtr graph);
    // Shown instead of a graph.
    void setReason(const QString& text);
    GraphView* view() { return m_view; }

private:
    QLabel* m_title;
    QScrollArea* m_area;
    GraphView* m_view;
};

} // namespace gd::gui
