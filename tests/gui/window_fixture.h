// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/app/main_window.h"
#include "tests/gui/trace_files.h"

#include <QAccessible>
#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

namespace gd::test {

// A window with a trace, driven by keys and mouse.
class Window : public testing::Test {
protected:
    void open(const std::string& fixture) { openPath(files.fixture(fixture)); }
    void openPath(const QString& path) {
        window.setRulesFolder(QStringLiteral(GD_RULES));
        window.resize(1400, 900);
        window.show();
        // Keys are shortcuts, and those need the active window: on a real X server that takes a moment.
        window.activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window, 60'000));
        QSignalSpy done(&window, &gui::MainWindow::traceLoaded);
        window.openTrace(path);
        ASSERT_TRUE(done.count() == 1 || done.wait(60'000));
        view = window.timeline();
        view->setFocus();
        QCoreApplication::processEvents();
        view->settle();
    }
    // Without a turn of the event loop afterwards.
    void press(Qt::Key k, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QWidget* target = window.focusWidget() != nullptr ? window.focusWidget() : &window;
        QTest::keyClick(target, k, modifiers);
    }
    void key(Qt::Key k, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        press(k, modifiers);
        QCoreApplication::processEvents();
    }
    // What a screen reader says of the focused item.
    static std::string spoken(QWidget* focused) {
        QAccessibleInterface* face = QAccessible::queryAccessibleInterface(focused);
        QAccessibleInterface* child = face->focusChild();
        return (child != nullptr ? child : face)->text(QAccessible::Name).toStdString();
    }
    int yOf(gui::RowKind kind) const {
        for (const gui::RowLayout::Line& line : view->layout().lines()) {
            if (line.row && line.row->kind == kind)
                return view->rowsTop() + line.y + 2 + line.laneHeight / 2
                    - view->verticalScrollBar()->value();
        }
        return -1;
    }

    TraceFiles files;
    gui::MainWindow window{&gui::Theme::light()};
    gui::TimelineView* view = nullptr;
};

} // namespace gd::test
