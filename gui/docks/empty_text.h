// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractScrollArea>
#include <QLabel>
#include <QVBoxLayout>

namespace gd::gui {

// What a view says in its middle while it has nothing to show.
class EmptyText : public QLabel {
public:
    explicit EmptyText(QAbstractScrollArea* view)
        : QLabel(view->viewport()) {
        setAlignment(Qt::AlignCenter);
        setWordWrap(true);
        setTextFormat(Qt::PlainText);
        setForegroundRole(QPalette::PlaceholderText);
        setAttribute(Qt::WA_TransparentForMouseEvents);
        auto* const middle = new QVBoxLayout(view->viewport());
        middle->addWidget(this);
    }
    // An empty text hides it.
    void say(const QString& text) {
        setText(text);
        setVisible(!text.isEmpty());
    }
};

} // namespace gd::gui
