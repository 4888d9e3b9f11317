// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <array>

class QAction;
class QWidget;

namespace gd::gui {

// Zooming and panning by where keys lie, not by what is printed on them: the four that are W, A, S and D on
// an American keyboard, so that the hand rests on the same place with AZERTY or Dvorak. Letters that lie
// elsewhere do nothing then. Where the system tells no scan code (Qt's offscreen platform, tests) the letters
// count. Fields that take text keep all their keys.
class PhysicalKeys : public QObject {
public:
    // Actions in the order W, A, S, D; the keys of `window` and its children are watched.
    PhysicalKeys(QWidget* window, const std::array<QAction*, 4>& actions);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* m_window;
    std::array<QAction*, 4> m_actions;
};

} // namespace gd::gui
