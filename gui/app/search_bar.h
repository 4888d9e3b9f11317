// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/mailbox.h"
#include "gui/model/search.h"
#include "gui/model/workers.h"
#include "gui/timeline/timeline_view.h"

#include <QWidget>

#include <atomic>
#include <memory>

class QLabel;
class QLineEdit;

namespace gd::gui {

// Two fields: a text to look for in the names of events (Enter next, Shift+Enter before; counted by a
// worker), and one that rows must have in their title to be shown. Escape leaves.
class SearchBar : public QWidget {
    Q_OBJECT
public:
    explicit SearchBar(QWidget* parent = nullptr);
    ~SearchBar() override;

    // Rows and selection come from the timeline; null: no trace.
    void setTrace(TimelineView* timeline, std::shared_ptr<const NameTable> names);
    void focusText();
    void focusRows();
    void step(int direction);
    QLineEdit* text() const { return m_text; }
    QLineEdit* rows() const { return m_rows; }

signals:
    void found(const gd::gui::EventKey& event);
    void rowFilterChanged(const QString& text);
    void rowWanted(); // Enter where rows are filtered: the first one that is left
    void left();
    void searched(); // a search ended, with or without a hit

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void start(int direction, bool fromSelection);

    QLineEdit* m_text;
    QLineEdit* m_rows;
    QLabel* m_count;
    TimelineView* m_timeline = nullptr;
    std::shared_ptr<const NameTable> m_names;
    Mailbox m_mail;
    Workers m_pool{1};
    std::shared_ptr<std::atomic<bool>> m_stop;
};

} // namespace gd::gui
