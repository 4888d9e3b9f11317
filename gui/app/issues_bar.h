// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QToolButton>

namespace gd::gui {

// One line above the timeline: a sentence, cut where the window is too narrow, and how many more there are.
class IssuesBar : public QToolButton {
public:
    explicit IssuesBar(QWidget* parent = nullptr)
        : QToolButton(parent) {
        setObjectName(QStringLiteral("issuesBar"));
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        setToolButtonStyle(Qt::ToolButtonTextOnly);
        hide();
    }
    // `more` is never cut; empty: there are none.
    void say(const QString& sentence, const QString& more) {
        m_sentence = sentence;
        m_more = more;
        setAccessibleName(sentence);
        setToolTip(sentence.toHtmlEscaped());
        fit();
        show();
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QToolButton::resizeEvent(event);
        fit();
    }

private:
    static constexpr int kMargin = 12;
    void fit() {
        const int room = width() - fontMetrics().horizontalAdvance(m_more) - kMargin;
        // A lone '&' would be taken for the mark of a key.
        QString text = fontMetrics().elidedText(m_sentence, Qt::ElideRight, room) + m_more;
        setText(text.replace(QLatin1Char('&'), QLatin1String("&&")));
    }

    QString m_sentence;
    QString m_more;
};

} // namespace gd::gui
