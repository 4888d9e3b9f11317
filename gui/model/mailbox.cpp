// SPDX-License-Identifier: Apache-2.0
#include "gui/model/mailbox.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QPointer>

namespace gd::gui {
namespace {

constexpr qint64 kTurnMs = 5; // then the event loop has its turn

} // namespace

void Mailbox::post(Letter letter) {
    bool announce = false;
    {
        const std::lock_guard lock(m_mutex);
        m_letters.push_back(std::move(letter));
        announce = !std::exchange(m_isAnnounced, true);
    }
    if (announce)
        QCoreApplication::postEvent(this, new QEvent(QEvent::User)); // owned by the event loop
}

bool Mailbox::deliverOne() {
    Letter letter;
    {
        const std::lock_guard lock(m_mutex);
        if (m_letters.empty())
            return false;
        letter = std::move(m_letters.front());
        m_letters.pop_front();
    }
    const QPointer<Mailbox> alive(this);
    letter();
    return !alive.isNull();
}

void Mailbox::deliver() {
    while (deliverOne()) { }
}

bool Mailbox::event(QEvent* event) {
    if (event->type() != QEvent::User && event->type() != QEvent::Timer)
        return QObject::event(event);
    m_rest.stop();
    QElapsedTimer turn;
    turn.start();
    const QPointer<Mailbox> alive(this);
    while (deliverOne() && turn.elapsed() < kTurnMs) { }
    if (alive.isNull())
        return true;
    const std::lock_guard lock(m_mutex);
    m_isAnnounced = !m_letters.empty();
    // A timer, for an event posted now would be handled before the loop sees anything else.
    if (m_isAnnounced)
        m_rest.start(0, this);
    return true;
}

} // namespace gd::gui
