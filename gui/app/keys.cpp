// SPDX-License-Identifier: Apache-2.0
#include "gui/app/keys.h"

#include <QAction>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QTableWidget>
#include <QVBoxLayout>

#include <utility>

namespace gd::gui {
namespace {

class Keys {
    Q_DECLARE_TR_FUNCTIONS(gd::gui::Keys)
};

} // namespace

QMenu* menuOf(QMainWindow* window, const QString& name) {
    for (const QAction* entry : window->menuBar()->actions()) {
        if (entry->text() == name)
            return entry->menu();
    }
    return window->menuBar()->addMenu(name);
}

QAction* addKey(QMainWindow* window, const QString& menu, const QString& text,
    const QList<QKeySequence>& keys, std::function<void()> run) {
    QAction* const action = menuOf(window, menu)->addAction(text);
    action->setShortcuts(keys);
    QObject::connect(action, &QAction::triggered, window, std::move(run));
    return action;
}

QStringList keysOf(const QMainWindow* window) {
    QStringList out;
    for (const QAction* menu : window->menuBar()->actions()) {
        for (const QAction* action : menu->menu()->actions()) {
            if (action->shortcuts().isEmpty())
                continue;
            QString what = action->text();
            what.remove(QLatin1Char('&'));
            const QString keys = QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText);
            out += QStringLiteral("%1\t%2").arg(keys, what);
        }
    }
    return out << Keys::tr("Ctrl+wheel\tZoom at the pointer")
               << Keys::tr("Shift+wheel, middle drag\tMove in time") << Keys::tr("Wheel\tScroll the rows")
               << Keys::tr("Left drag\tSelect an area, or move an edge of it")
               << Keys::tr("Double click\tZoom to the event");
}

void showKeys(QMainWindow* window) {
    auto* const dialog = new QDialog(window); // deletes itself
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("keys"));
    dialog->setWindowTitle(Keys::tr("Keys"));
    const QStringList lines = keysOf(window);
    auto* const table = new QTableWidget(static_cast<int>(lines.size()), 2);
    table->setAccessibleName(Keys::tr("Keys"));
    table->setHorizontalHeaderLabels({Keys::tr("Keys"), Keys::tr("What they do")});
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setTabKeyNavigation(false);
    table->setShowGrid(false);
    table->setAlternatingRowColors(true);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
    table->horizontalHeader()->setStretchLastSection(true);
    for (int row = 0; row < lines.size(); ++row) {
        const QStringList parts = lines[row].split(QLatin1Char('\t'));
        for (int column = 0; column < 2; ++column)
            table->setItem(row, column, new QTableWidgetItem(parts.value(column)));
    }
    table->resizeColumnToContents(0);
    auto* const column = new QVBoxLayout(dialog);
    column->addWidget(table);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    column->addWidget(buttons);
    dialog->resize(dialog->fontMetrics().averageCharWidth() * 115, dialog->fontMetrics().height() * 36);
    table->setCurrentCell(0, 0);
    table->setFocus();
    dialog->open();
}

} // namespace gd::gui
