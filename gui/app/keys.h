// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>
#include <QStringList>

#include <functional>

class QAction;
class QMainWindow;
class QMenu;

namespace gd::gui {

// An entry of a window's menu, which is made when there is none of that name, with its keys.
QAction* addKey(QMainWindow* window, const QString& menu, const QString& text,
    const QList<QKeySequence>& keys, std::function<void()> run);
// The menu of that name, made when there is none.
QMenu* menuOf(QMainWindow* window, const QString& name);

// Every entry of the window's menus that has keys, one "keys<tab>what it does" a line, then what the pointer
// does on a timeline: the list is made of the actions themselves, so that it is always the true one.
QStringList keysOf(const QMainWindow* window);
// Shows that list in a dialog, named "keys".
void showKeys(QMainWindow* window);

} // namespace gd::gui
