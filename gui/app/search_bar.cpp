// SPDX-License-Identifier: Apache-2.0
#include "gui/app/search_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

#include <limits>
#include <utility>

namespace gd::gui {

SearchBar::SearchBar(QWidget* parent)
    : QWidget(parent)
    , m_text(new QLineEdit)
    , m_rows(new QLineEdit)
    , m_count(new QLabel)
    , m_stop(std::make_shared<std::atomic<bool>>(false)) {
    auto* const line = new QHBoxLayout(this);
    line->setContentsMargins(0, 0, 0, 0);
    line->addWidget(m_count);
    line->addWidget(m_text);
    line->addWidget(m_rows);
    m_text->setObjectName(QStringLiteral("searchText"));
    m_rows->setObjectName(QStringLiteral("searchRows"));
    m_text->setPlaceholderText(tr("Search names  ( / )"));
    m_text->setAccessibleName(tr("Search names of events"));
    m_rows->setPlaceholderText(tr("Rows  (Ctrl+P)"));
    m_rows->setAccessibleName(tr("Show only rows with this text"));
    for (QLineEdit* field : {m_text, m_rows}) {
        field->setClearButtonEnabled(true);
        field->setFixedWidth(fontMetrics().averageCharWidth() * 26);
        field->installEventFilter(this);
    }
    connect(m_text, &QLineEdit::textChanged, this, [this] { start(1, false); });
    connect(m_rows, &QLineEdit::textChanged, this, &SearchBar::rowFilterChanged);
}

SearchBar::~SearchBar() {
    *m_stop = true;
    m_pool.clear();
    m_pool.waitForDone();
}

void SearchBar::setTrace(TimelineView* timeline, std::shared_ptr<const NameTable> names) {
    *m_stop = true;
    m_pool.clear();
    m_pool.waitForDone();
    m_timeline = timeline;
    m_names = std::move(names);
    m_count->clear();
    emit counted({}, {});
}

void SearchBar::focusText() {
    m_text->setFocus();
    m_text->selectAll();
}

void SearchBar::focusRows() {
    m_rows->setFocus();
    m_rows->selectAll();
}

void SearchBar::step(int direction) {
    start(direction, true);
}

// While the text is typed the search begins at the left edge of the view, afterwards at the selection.
void SearchBar::start(int direction, bool fromSelection) {
    look(m_timeline != nullptr ? m_timeline->layout().rows() : std::vector<RowPtr>(),
        fromSelection && m_timeline != nullptr ? m_timeline->selectedEvent() : EventKey(),
        m_timeline != nullptr ? m_timeline->scale().startNs : 0, direction,
        [this](const SearchResult& result) {
            m_count->setText(
                result.hit ? tr("%1 of %2").arg(result.position).arg(result.count) : tr("no event"));
            emit counted(m_text->text(), result);
        });
}

void SearchBar::goTo(const RowPtr& row) {
    look({row}, {}, std::numeric_limits<std::int64_t>::min(), 1, [](const SearchResult&) {});
}

void SearchBar::look(std::vector<RowPtr> rows, const EventKey& from, std::int64_t fromNs, int direction,
    std::function<void(const SearchResult&)> tell) {
    *m_stop = true;
    m_pool.clear();
    m_count->clear();
    if (m_timeline == nullptr || m_text->text().isEmpty()) {
        emit counted({}, {});
        return;
    }
    m_stop = std::make_shared<std::atomic<bool>>(false);
    m_pool.start([this, rows = std::move(rows), names = m_names, text = m_text->text().toStdString(), from,
                     fromNs, direction, stop = m_stop, tell = std::move(tell)] {
        const SearchResult result
            = searchEvents(rows, namesWith(*names, text), from, fromNs, direction, *stop);
        m_mail.post([this, result, stop, tell] {
            if (*stop)
                return;
            tell(result);
            if (result.hit)
                emit found(result.hit);
            emit searched();
        });
    });
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const auto* const key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Escape) {
            emit left();
            return true;
        }
        if (watched == m_text && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
            step(key->modifiers() & Qt::ShiftModifier ? -1 : 1);
            return true;
        }
        if (watched == m_text && key->key() == Qt::Key_Down) {
            emit hitsWanted();
            return true;
        }
    }
    if (event->type() == QEvent::KeyPress && watched == m_rows) {
        const int pressed = static_cast<QKeyEvent*>(event)->key();
        if (pressed == Qt::Key_Return || pressed == Qt::Key_Enter) {
            emit rowWanted();
            return true;
        }
    }
    // Escape and letters are shortcuts of the window elsewhere; here they belong to the field.
    if (event->type() == QEvent::ShortcutOverride
        && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace gd::gui
