// SPDX-License-Identifier: Apache-2.0
// The viewer without a mouse and without looking: what a screen reader gets, where Tab goes, keys by place.
#include "tests/gui/window_fixture.h"

#include <QLineEdit>
#include <QTableView>
#include <QTreeView>
#include <qtestspontaneevent.h>

#include <gmock/gmock.h>

#include <cstdlib>

using namespace gd::gui;

namespace {

class Spoken : public gd::test::Window {
protected:
    QAccessibleInterface* face() const { return QAccessible::queryAccessibleInterface(view); }
    static std::string name(const QAccessibleInterface* item) {
        return item == nullptr ? "" : item->text(QAccessible::Name).toStdString();
    }
};

TEST_F(Spoken, EachRowAndTheSelectionIsAnItemWithItsTimes) {
    open("h200-trace-nccl-pair");
    const int lines = static_cast<int>(view->layout().lines().size());
    ASSERT_EQ(face()->childCount(), lines);
    EXPECT_EQ(face()->role(), QAccessible::List);
    EXPECT_EQ(face()->focusChild(), nullptr);
    EXPECT_THAT(name(face()->child(0)), testing::StartsWith("rank 0, process "));
    for (int i = 0; i < lines; ++i) {
        QAccessibleInterface* item = face()->child(i);
        ASSERT_NE(item, nullptr);
        EXPECT_EQ(face()->indexOfChild(item), i);
        EXPECT_EQ(item->parent(), face());
        const RowPtr& row = view->layout().lines()[static_cast<std::size_t>(i)].row;
        if (!row)
            continue;
        EXPECT_THAT(name(item), testing::StartsWith(row->title));
        EXPECT_THAT(name(item), testing::ContainsRegex(row->curve ? ", most " : " event.* from .* for "))
            << i;
    }
    key(Qt::Key_J);
    key(Qt::Key_J); // the heading of the first process, then its first row
    ASSERT_TRUE(view->selectedEvent());
    ASSERT_EQ(face()->childCount(), lines + 1);
    QAccessibleInterface* selected = face()->focusChild();
    ASSERT_NE(selected, nullptr);
    EXPECT_EQ(face()->child(lines), selected);
    EXPECT_TRUE(selected->state().focused);
    EXPECT_THAT(name(selected), testing::MatchesRegex("step 0.*, Steps, from .* for .*"));
    EXPECT_TRUE(view->viewport()
                    ->rect()
                    .translated(view->viewport()->mapToGlobal(QPoint()))
                    .contains(selected->rect()));
    key(Qt::Key_Escape);
    EXPECT_EQ(face()->childCount(), lines);
    EXPECT_FALSE(selected->isValid());
}

TEST_F(Spoken, TabGoesThroughThePanels) {
    open("h200-trace-sync-broken");
    window.details()->raise();
    QCoreApplication::processEvents();
    std::vector<std::string> seen;
    do { // tabs of panels have no name
        if (const QString name = window.focusWidget()->objectName(); !name.isEmpty())
            seen.push_back(name.toStdString());
        key(Qt::Key_Tab);
    } while (window.focusWidget() != view && seen.size() < 20);
    EXPECT_THAT(seen,
        testing::ElementsAre("timeline", "findingsFilter", "findingsSeverity", "findingsOrder",
            "findingsView", "detailsView", "searchText", "searchRows"));
    EXPECT_EQ(window.focusWidget(), view);
}

TEST_F(Spoken, TheFocusCanBeSeen) {
    open("h200-trace-sync-broken");
    const auto corner = [this] { return view->viewport()->grab().toImage().pixelColor(1, 200); };
    EXPECT_EQ(corner(), Theme::light().area);
    key(Qt::Key_2, Qt::AltModifier);
    EXPECT_NE(corner(), Theme::light().area);
}

TEST_F(Spoken, ZoomKeysGoByPlaceWhereTheSystemTellsIt) {
    open("h200-trace-healthy");
    const auto press = [this](int letter, quint32 scanCode, QWidget* target) {
        for (const QEvent::Type type : {QEvent::ShortcutOverride, QEvent::KeyPress}) {
            QKeyEvent event(type, letter, Qt::NoModifier, scanCode, 0, 0, QChar(letter).toLower());
            event.ignore();
            // As from the keyboard: Qt looks for shortcuts once more when a program sends a key.
            QSpontaneKeyEvent::setSpontaneous(&event);
            qApp->notify(target, &event);
            if (type == QEvent::ShortcutOverride && !event.isAccepted())
                return false; // it would be a shortcut, by its letter
        }
        return true;
    };
    const double fit = view->scale().nsPerPx;
    EXPECT_TRUE(press(Qt::Key_Z, 25, view)); // AZERTY: Z lies where W does elsewhere
    EXPECT_LT(view->scale().nsPerPx, fit);
    EXPECT_TRUE(press(Qt::Key_S, 39, view));
    EXPECT_NEAR(view->scale().nsPerPx, fit, fit * 1e-9);
    EXPECT_TRUE(press(Qt::Key_W, 52, view)); // and its W lies elsewhere: nothing happens
    EXPECT_NEAR(view->scale().nsPerPx, fit, fit * 1e-9);
    EXPECT_FALSE(press(Qt::Key_N, 57, view)); // other keys are left alone
    // Text is text.
    QLineEdit* const field = window.search()->text();
    field->setFocus();
    press(Qt::Key_W, 25, field);
    EXPECT_EQ(field->text().toStdString(), "w");
    EXPECT_NEAR(view->scale().nsPerPx, fit, fit * 1e-9);
}

// As a new user with `graphdoctor view demo/fault.gdt`, made as scripts/demo makes it: keys only.
TEST_F(Spoken, KeysLeadFromTheDemoTraceToTheLineThatBrokeTheCapture) {
    const std::string trace = files.path("fault.gdt");
    const std::string command = std::string("'") + GD_PROGRAM + "' run -o '" + trace + "' --no-report -- '"
        + GD_TRAINER + "' --backend host --steps 20 --fault item-in-capture >'" + files.path("log")
        + "' 2>&1";
    (void)std::system(command.c_str()); // the fault may end the job
    openPath(QString::fromStdString(trace));
    ASSERT_EQ(window.failure().toStdString(), "");
    key(Qt::Key_N); // the finding to fix first
    key(Qt::Key_3, Qt::AltModifier); // its details, source line first
    const std::string line = spoken(QApplication::focusWidget());
    EXPECT_THAT(line, testing::ContainsRegex("^source: .*[.](cpp|h):[0-9]+ in ")) << line;
    // The line is the fault's own: its file says so at that place.
    const auto* const row = window.details()->model().row(
        window.details()->model().index(window.details()->model().find("source"), 1));
    ASSERT_NE(row, nullptr);
    QFile source(QString::fromStdString(row->file));
    ASSERT_TRUE(source.open(QIODevice::ReadOnly)) << row->file;
    QByteArray text;
    for (std::int64_t i = 0; i < row->line; ++i)
        text = source.readLine();
    EXPECT_THAT(text.toStdString(), testing::HasSubstr("\"cuStreamSynchronize\", stream.synchronize()"));
}

} // namespace
