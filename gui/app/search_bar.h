// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/mailbox.h"
#include "gui/model/search.h"
#include "gui/model/workers.h"
#include "gui/timeline/timeline_view.h"

#include <QWidget>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

class QLabel;
class QLineEdit;

namespace gd::gui {

// Two fields: a text to look for in the names of events (Enter next, Shift+Enter before, Down to the list of
// hits by row; counted by a worker), and one that rows must have in their title to be shown. Escape leaves.
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
    void goTo(const RowPtr& row); // to its first hit
    QLineEdit* text() const { return m_text; }
    QLineEdit* rows() const { return m_rows; }

signals:
    void found(const gd::gui::EventKey& event);
    void rowFilterChanged(const QString& text);
    void rowWanted(); // Enter where rows are filtered: the first one that is left
    void left();
    void searched(); // a search ended, with or without a hit
    // How much each row has, with the text; an empty text: nothing is looked for.
    void counted(const QString& text, const gd::gui::SearchResult& result);
    void hitsWanted(); // Down in the text: to the list of them

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void start(int direction, bool fromSelection);
    // Searches in a worker; `tell` gets the result before found() and searched().
    void look(std::vector<RowPtr> rows, const EventKey& from, std::int64_t fromNs, int direction,
        std::function<void(const SearchResult&)> tell);

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
