// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/timeline_accessible.h"

#include "gui/timeline/timeline_view.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include <map>

namespace gd::gui {
namespace {

constexpr int kSelection = -1; // instead of a line's index

// A line of the timeline, or its selected event. Asks the view each time: lines come and go.
class Item : public QAccessibleInterface {
public:
    Item(TimelineView* view, int line)
        : m_view(view)
        , m_line(line) { }

    bool isValid() const override {
        return m_line == kSelection ? static_cast<bool>(m_view->selectedEvent())
                                    : m_line < static_cast<int>(m_view->layout().lines().size());
    }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_view); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text type) const override {
        if (type != QAccessible::Name || !isValid())
            return {};
        return m_line == kSelection ? m_view->selectionText() : m_view->lineText(m_line);
    }
    void setText(QAccessible::Text, const QString&) override { }
    QRect rect() const override {
        const QRect inside = isValid() ? m_view->placeOf(m_line) : QRect();
        return {m_view->viewport()->mapToGlobal(inside.topLeft()), inside.size()};
    }
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    QAccessible::State state() const override {
        QAccessible::State state;
        state.focusable = true;
        state.selectable = true;
        state.selected = m_line == kSelection || m_line == m_view->currentLine();
        state.focused
            = m_view->hasFocus() && m_line == (m_view->selectedEvent() ? kSelection : m_view->currentLine());
        state.invisible = !isValid();
        return state;
    }

private:
    TimelineView* m_view;
    int m_line;
};

class Face : public QAccessibleWidget {
public:
    explicit Face(TimelineView* view)
        : QAccessibleWidget(view, QAccessible::List)
        , m_view(view) { }
    ~Face() override {
        for (const auto& [line, id] : m_items)
            QAccessible::deleteAccessibleInterface(id);
    }

    int childCount() const override { return lines() + (m_view->selectedEvent() ? 1 : 0); }
    QAccessibleInterface* child(int index) const override {
        if (index < 0 || index >= childCount())
            return nullptr;
        return item(index < lines() ? index : kSelection);
    }
    int indexOfChild(const QAccessibleInterface* child) const override {
        for (const auto& [line, id] : m_items) {
            if (QAccessible::accessibleInterface(id) == child)
                return line == kSelection ? lines() : line;
        }
        return -1;
    }
    QAccessibleInterface* childAt(int x, int y) const override {
        for (int line = 0; line < lines(); ++line) {
            if (item(line)->rect().contains(x, y))
                return item(line);
        }
        return nullptr;
    }
    QAccessibleInterface* focusChild() const override {
        if (m_view->selectedEvent())
            return item(kSelection);
        return m_view->currentLine() >= 0 ? item(m_view->currentLine()) : nullptr;
    }

private:
    int lines() const { return static_cast<int>(m_view->layout().lines().size()); }
    QAccessibleInterface* item(int line) const {
        auto [at, isNew] = m_items.try_emplace(line);
        if (isNew)
            at->second = QAccessible::registerAccessibleInterface(new Item(m_view, line)); // owned there
        return QAccessible::accessibleInterface(at->second);
    }

    TimelineView* m_view;
    mutable std::map<int, QAccessible::Id> m_items;
};

QAccessibleInterface* make(const QString&, QObject* object) {
    auto* const view = qobject_cast<TimelineView*>(object);
    return view != nullptr ? new Face(view) : nullptr; // owned by the caller, which is Qt's cache
}

} // namespace

void makeTimelineAccessible() {
    static const bool installed = [] {
        QAccessible::installFactory(make);
        return true;
    }();
    (void)installed;
}

} // namespace gd::gui
