// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/graph_dock.h"

#include "analyzer/base/time.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace gd::gui {
namespace {

constexpr int kMargin = 10;

bool isMemory(const std::string& type) {
    return type == "memcpy" || type == "memset" || type == "mem_alloc" || type == "mem_free";
}

} // namespace

GraphView::GraphView(const Theme* theme)
    : m_theme(theme) {
    setObjectName(QStringLiteral("graphView"));
    setAccessibleName(tr("Graph"));
    setFocusPolicy(Qt::StrongFocus);
}

void GraphView::setTheme(const Theme& theme) {
    m_theme = &theme;
    update();
}

void GraphView::setGraph(GraphPtr graph) {
    m_graph = std::move(graph);
    m_selected = -1;
    if (m_graph && !m_graph->nodes.empty()) {
        const QRect unit = nodeRect(0);
        const int stepX = unit.width() * 4 / 3;
        const int stepY = unit.height() * 3 / 2;
        setFixedSize(2 * kMargin + static_cast<int>(m_graph->layers) * stepX,
            2 * kMargin + static_cast<int>(m_graph->columns) * stepY);
        if (m_graph->selected)
            select(*m_graph->selected);
    } else {
        setFixedSize(1, 1);
    }
    update();
}

QRect GraphView::nodeRect(std::size_t node) const {
    const int width = fontMetrics().averageCharWidth() * 18;
    const int height = fontMetrics().height() + 8;
    const GraphDrawing::Node& n = m_graph->nodes[node];
    return {kMargin + static_cast<int>(n.layer) * width * 4 / 3,
        kMargin + static_cast<int>(n.column) * height * 3 / 2, width, height};
}

QString GraphView::labelOf(const GraphDrawing::Node& node) {
    if (node.members == 1)
        return QString::fromStdString(node.name);
    const QString count = tr("%n kernel(s)", nullptr, static_cast<int>(node.members));
    const std::string& what = node.range.empty() ? node.name : node.range;
    return node.range.empty() ? tr("%1 from %2 on").arg(count, QString::fromStdString(what))
                              : tr("%1 in %2").arg(count, QString::fromStdString(what));
}

QString GraphView::nodeText(std::size_t node) const {
    const GraphDrawing::Node& n = m_graph->nodes[node];
    QString text = labelOf(n);
    if (n.members == 1)
        text += QStringLiteral(" (%1)").arg(QString::fromStdString(n.type));
    if (n.timeNs >= 0)
        text += tr(", %1 a replay").arg(QString::fromStdString(base::formatDuration(n.timeNs)));
    if (n.stream >= 0)
        text += tr(", stream %1").arg(n.stream);
    if (n.critical)
        text += tr(", on the critical path");
    return text;
}

void GraphView::select(std::size_t node) {
    m_selected = static_cast<int>(node);
    setAccessibleDescription(nodeText(node));
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
    emit shown(nodeRect(node));
    update();
}

void GraphView::pick(std::size_t node) {
    select(node);
    emit picked(node);
}

// From node to node. One that passes other layers runs between their rows, else it would seem to end at a
// node that it only passes.
QPainterPath GraphView::pathOf(std::size_t from, std::size_t to) const {
    const QRect a = nodeRect(from);
    const QRect b = nodeRect(to);
    QPointF at(a.right(), a.center().y());
    QPainterPath path(at);
    const auto goTo = [&](const QPointF& next) {
        const double bend = std::max(12.0, (next.x() - at.x()) / 2);
        path.cubicTo(at + QPointF(bend, 0), next - QPointF(bend, 0), next);
        at = next;
    };
    if (m_graph->nodes[to].layer > m_graph->nodes[from].layer + 1) {
        const double between = a.height() / 4.0; // half of the room between two rows
        const double y = b.center().y() < a.center().y() ? a.top() - between : a.bottom() + between;
        const double room = a.width() / 3.0; // between two layers
        goTo({a.right() + room, y});
        path.lineTo(at = QPointF(b.left() - room, y));
    }
    goTo(b.center() - QPointF(b.width() / 2.0, 0));
    return path;
}

void GraphView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), m_theme->background);
    if (!m_graph)
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    for (const auto& [from, to] : m_graph->edges) {
        const QRect around = nodeRect(from).united(nodeRect(to));
        if (!around.adjusted(-kMargin, -kMargin, kMargin, kMargin).intersects(event->rect()))
            continue;
        const bool critical = m_graph->nodes[from].critical && m_graph->nodes[to].critical;
        painter.setPen(QPen(critical ? m_theme->selection : m_theme->muted, critical ? 2.5 : 1));
        painter.drawPath(pathOf(from, to));
    }
    std::int64_t most = 1;
    for (const GraphDrawing::Node& node : m_graph->nodes)
        most = std::max(most, node.timeNs);
    for (std::size_t i = 0; i < m_graph->nodes.size(); ++i) {
        const GraphDrawing::Node& node = m_graph->nodes[i];
        const QRect box = nodeRect(i);
        if (!box.intersects(event->rect()))
            continue;
        const bool comm
            = node.type == "comm" || (node.type == "kernel" && kernelCategory(node.name) == Category::comm);
        const Category category = comm ? Category::comm
            : isMemory(node.type)      ? Category::copy
            : node.type == "kernel"    ? kernelCategory(node.name)
                                       : Category::host;
        const double share = node.timeNs < 0
            ? 0.25
            : 0.25 + 0.75 * static_cast<double>(node.timeNs) / static_cast<double>(most);
        const QColor fill(blend(m_theme->background, m_theme->bar(category), share));
        painter.setBrush(fill);
        const bool selected = static_cast<int>(i) == m_selected;
        painter.setPen(QPen(selected ? m_theme->selection : m_theme->muted,
            selected            ? 3
                : node.critical ? 2
                                : 1));
        if (comm)
            painter.drawPolygon(QPolygon({box.topLeft() + QPoint(8, 0), box.topRight(),
                box.bottomRight() - QPoint(8, 0), box.bottomLeft()}));
        else if (isMemory(node.type))
            painter.drawRect(box);
        else
            painter.drawRoundedRect(box, 7, 7);
        painter.setPen(labelOn(fill));
        painter.drawText(box.adjusted(8, 0, -8, 0), Qt::AlignVCenter | Qt::AlignLeft,
            fontMetrics().elidedText(labelOf(node).left(200), Qt::ElideRight, box.width() - 16));
    }
}

int GraphView::nodeAt(const QPoint& position) const {
    for (std::size_t i = 0; m_graph && i < m_graph->nodes.size(); ++i) {
        if (nodeRect(i).contains(position))
            return static_cast<int>(i);
    }
    return -1;
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    if (const int node = nodeAt(event->pos()); node >= 0)
        pick(static_cast<std::size_t>(node));
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    if (!m_graph || m_graph->nodes.empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    if (m_selected < 0) {
        pick(0);
        return;
    }
    const auto here = static_cast<std::size_t>(m_selected);
    const GraphDrawing::Node& node = m_graph->nodes[here];
    int best = -1;
    const auto offer = [&](std::size_t other) {
        // Along an edge: the critical one, else the first.
        if (best < 0
            || (m_graph->nodes[other].critical && !m_graph->nodes[static_cast<std::size_t>(best)].critical))
            best = static_cast<int>(other);
    };
    const int key = event->key();
    if (key == Qt::Key_Left || key == Qt::Key_Right) {
        for (const auto& [from, to] : m_graph->edges) {
            if (key == Qt::Key_Right && from == here)
                offer(to);
            if (key == Qt::Key_Left && to == here)
                offer(from);
        }
    } else if (key == Qt::Key_Up || key == Qt::Key_Down) {
        for (std::size_t i = 0; i < m_graph->nodes.size(); ++i) {
            const GraphDrawing::Node& other = m_graph->nodes[i];
            const bool beside
                = key == Qt::Key_Down ? other.column == node.column + 1 : other.column + 1 == node.column;
            if (other.layer == node.layer && beside)
                best = static_cast<int>(i);
        }
    } else {
        QWidget::keyPressEvent(event);
        return;
    }
    if (best >= 0)
        pick(static_cast<std::size_t>(best));
}

bool GraphView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* const help = static_cast<QHelpEvent*>(event);
        const int node = nodeAt(help->pos());
        QToolTip::showText(help->globalPos(),
            node < 0 ? QString() : nodeText(static_cast<std::size_t>(node)).toHtmlEscaped(), this);
        return true;
    }
    return QWidget::event(event);
}

GraphDock::GraphDock(const Theme* theme, QWidget* parent)
    : QDockWidget(tr("Graph"), parent)
    , m_title(new QLabel)
    , m_area(new QScrollArea)
    , m_view(new GraphView(theme)) {
    setObjectName(QStringLiteral("graph"));
    auto* const body = new QWidget;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    m_title->setWordWrap(true);
    column->addWidget(m_title);
    m_area->setWidget(m_view);
    m_area->viewport()->setBackgroundRole(QPalette::Base); // as the drawing's own
    column->addWidget(m_area, 1);
    setWidget(body);
    connect(m_view, &GraphView::shown, this, [this](const QRect& rect) {
        m_area->ensureVisible(rect.center().x(), rect.center().y(), rect.width(), rect.height());
    });
    setReason(tr("Select a replay, or a kernel of one, and press G to see its graph."));
}

void GraphDock::setGraph(GraphPtr graph) {
    QString text = QString::fromStdString(graph->title);
    if (!graph->note.empty())
        text += QStringLiteral(" – ") + QString::fromStdString(graph->note);
    if (graph->totalNs() == 0)
        text += tr(
            " – no replay was recorded node by node, so nodes have no times (record with --level full)");
    m_title->setText(text);
    m_view->setGraph(std::move(graph));
}

void GraphDock::setReason(const QString& text) {
    m_title->setText(text);
    m_view->setGraph(nullptr);
}

} // namespace gd::gui
