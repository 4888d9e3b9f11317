// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QBasicTimer>
#include <QObject>

#include <deque>
#include <functional>
#include <mutex>

namespace gd::gui {

// Brings results of workers into the thread it lives in, in the order in which they were posted, and lets the
// event loop breathe between them. What is not delivered when it is destroyed is dropped; nobody may post any
// more by then. A letter may destroy the mailbox.
class Mailbox : public QObject {
public:
    using Letter = std::function<void()>;

    void post(Letter letter); // from any thread
    void deliver(); // everything that is there now

protected:
    bool event(QEvent* event) override;

private:
    bool deliverOne(); // false: none was there, or this is gone

    std::mutex m_mutex;
    std::deque<Letter> m_letters;
    bool m_isAnnounced = false; // an event is on its way
    QBasicTimer m_rest;
};

} // namespace gd::gui
