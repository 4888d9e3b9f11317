// SPDX-License-Identifier: Apache-2.0
#include "gui/app/physical_keys.h"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QWidget>

#include <algorithm>

namespace gd::gui {
namespace {

// X11 and Wayland number keys as the Linux kernel does, plus 8 (input-event-codes.h: KEY_W is 17).
constexpr std::array<quint32, 4> kScanCodes = {25, 38, 39, 40};
constexpr std::array<int, 4> kLetters = {Qt::Key_W, Qt::Key_A, Qt::Key_S, Qt::Key_D};

} // namespace

PhysicalKeys::PhysicalKeys(QWidget* window, const std::array<QAction*, 4>& actions)
    : QObject(window)
    , m_window(window)
    , m_actions(actions) {
    QApplication::instance()->installEventFilter(this);
}

bool PhysicalKeys::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride)
        return false;
    const auto* const widget = qobject_cast<QWidget*>(watched);
    const auto* const key = static_cast<QKeyEvent*>(event);
    if (widget == nullptr || widget->window() != m_window || widget->testAttribute(Qt::WA_InputMethodEnabled)
        || key->nativeScanCode() == 0 || key->modifiers() != Qt::NoModifier)
        return false;
    const auto* const place = std::find(kScanCodes.begin(), kScanCodes.end(), key->nativeScanCode());
    const bool isLetter = std::find(kLetters.begin(), kLetters.end(), key->key()) != kLetters.end();
    if (place == kScanCodes.end() && !isLetter)
        return false;
    // Taken here, the shortcut of the letter does not fire.
    event->accept();
    if (event->type() == QEvent::KeyPress && place != kScanCodes.end())
        m_actions[static_cast<std::size_t>(place - kScanCodes.begin())]->trigger();
    return true;
}

} // namespace gd::gui
