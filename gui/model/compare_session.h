// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/compare_model.h"
#include "gui/model/mailbox.h"
#include "gui/model/workers.h"

#include <QObject>

#include <atomic>
#include <string>

namespace gd::gui {

// Compares two traces or spools in a worker thread. Without rules that can judge both their findings are left
// out and a note says so.
class CompareSession : public QObject {
    Q_OBJECT
public:
    explicit CompareSession(const std::string& rulesFolder, QObject* parent = nullptr);
    ~CompareSession() override;

    // Answered by compared() or failed(). Once per session.
    void compare(const QString& base, const QString& fresh);

signals:
    void compared(const gd::gui::ComparisonPtr& comparison);
    void failed(const QString& sentence);

private:
    std::string m_rulesFolder;
    std::atomic<bool> m_stop = false;
    Mailbox m_mail;
    Workers m_thread{1};
};

} // namespace gd::gui
