// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/ranks_dock.h"

#include "gui/docks/legend.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace gd::gui {
namespace {

constexpr int kMostCollectives = 500; // in the box

// Wants to be as wide as what is in it and no higher than the other panels, and gets along with less.
class Body : public QWidget {
public:
    QSize sizeHint() const override { return {QWidget::sizeHint().width(), fontMetrics().height() * 12}; }
    QSize minimumSizeHint() const override {
        return {fontMetrics().height() * 10, fontMetrics().height() * 6};
    }
};

// The lanes get the width that the other columns leave, but never too little to see anything.
class RanksTable : public QTableView {
public:
    void resizeEvent(QResizeEvent* event) override {
        QTableView::resizeEvent(event);
        fitLanes();
    }
    void fitLanes() {
        const QHeaderView* const header = horizontalHeader();
        const int others = header->length() - header->sectionSize(RanksModel::strip);
        const int least = fontMetrics().averageCharWidth() * 24;
        setColumnWidth(RanksModel::strip, std::max(least, viewport()->width() - others));
    }
};

} // namespace

LaneDelegate::LaneDelegate(const RanksModel* model, const Theme* theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_model(model)
    , m_theme(theme) { }

void LaneDelegate::paint(
    QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index); // selection and focus
    const QVariant number = index.data(RanksModel::kLaneRole);
    if (!number.isValid() || !m_model->step())
        return;
    const auto lane = static_cast<std::size_t>(number.toInt());
    const report::RankLane& own = m_model->step()->lanes[lane];
    const auto [from, to] = m_model->span();
    const QRect box = option.rect.adjusted(4, 3, -4, -3);
    const qint64 origin = m_model->originOf(lane);
    const double nsPerPx = static_cast<double>(to - from) / std::max(1, box.width());
    const auto xAt = [&, first = from](qint64 ns) {
        return box.left() + static_cast<double>(ns - origin - first) / nsPerPx;
    };
    painter->save();
    painter->setClipRect(box);
    painter->fillRect(QRectF(xAt(own.startNs), box.top(), xAt(own.endNs) - xAt(own.startNs), box.height()),
        m_theme->background);
    for (const report::LaneSegment& segment : own.segments) {
        const double left = xAt(segment.startNs);
        // Something is there, however short.
        const QRectF bar(left, box.top(), std::max(1.0, xAt(segment.endNs) - left), box.height());
        using Kind = report::LaneSegment::Kind;
        if (segment.kind == Kind::wait) {
            painter->fillRect(bar, QBrush(m_theme->bar(Category::comm), Qt::BDiagPattern));
            continue;
        }
        painter->fillRect(bar,
            m_theme->bar(segment.kind == Kind::work ? Category::gemm
                    : segment.kind == Kind::replay  ? Category::replay
                                                    : Category::comm));
    }
    // The step's own bounds, and what all are aligned at.
    painter->setPen(m_theme->muted);
    for (const qint64 bound : {own.startNs, own.endNs})
        painter->drawLine(QPointF(xAt(bound), box.top()), QPointF(xAt(bound), box.bottom()));
    if (m_model->alignment().at == RankAlignment::At::collective) {
        painter->setPen(QPen(m_theme->selection, 2));
        painter->drawLine(QPointF(xAt(origin), box.top() - 3), QPointF(xAt(origin), box.bottom() + 3));
    }
    painter->restore();
}

RanksDock::RanksDock(const Theme* theme, QWidget* parent)
    : QDockWidget(tr("Compare ranks"), parent)
    , m_sorted(new QSortFilterProxyModel(this))
    , m_delegate(new LaneDelegate(&m_model, theme, this))
    , m_step(new QSpinBox)
    , m_align(new QComboBox)
    , m_summary(new QLabel)
    , m_notes(new QLabel)
    , m_view(new RanksTable) {
    setObjectName(QStringLiteral("ranks"));
    m_sorted->setSourceModel(&m_model);
    m_sorted->setSortRole(RanksModel::kSortRole);
    m_view->setModel(m_sorted);
    m_view->setObjectName(QStringLiteral("ranksView"));
    m_view->setAccessibleName(tr("Ranks of the step"));
    m_view->setItemDelegateForColumn(RanksModel::strip, m_delegate);
    m_view->setSortingEnabled(true);
    m_view->sortByColumn(RanksModel::rank, Qt::AscendingOrder);
    m_view->setShowGrid(false);
    m_view->setTabKeyNavigation(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setSelectionMode(QAbstractItemView::SingleSelection);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 7);
    m_view->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_view->horizontalHeader()->setSectionResizeMode(RanksModel::strip, QHeaderView::Fixed);
    m_view->horizontalHeader()->setMinimumSectionSize(fontMetrics().averageCharWidth() * 9);
    m_step->setAccessibleName(tr("Step"));
    m_step->setKeyboardTracking(false);
    m_align->setAccessibleName(tr("Aligned at"));
    m_align->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_align->setMinimumContentsLength(10);
    m_summary->setWordWrap(true);
    m_notes->setWordWrap(true);

    auto* const top = new QHBoxLayout;
    auto* const stepLabel = new QLabel(tr("&Step"));
    stepLabel->setBuddy(m_step);
    auto* const alignLabel = new QLabel(tr("&Aligned at"));
    alignLabel->setBuddy(m_align);
    top->addWidget(stepLabel);
    top->addWidget(m_step);
    top->addWidget(alignLabel);
    top->addWidget(m_align);
    top->addStretch(1);
    m_legend = new Legend(*theme,
        {{tr("work"), Category::gemm}, {tr("whole replay"), Category::replay},
            {tr("transfer"), Category::comm}, {tr("waits for others"), Category::comm, true}});
    m_legend->setObjectName(QStringLiteral("ranksLegend"));
    top->addWidget(m_legend);
    auto* const body = new Body;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(4, 2, 4, 2);
    column->addLayout(top);
    column->addWidget(m_summary);
    column->addWidget(m_view, 1);
    column->addWidget(m_notes);
    setWidget(body);

    connect(m_step, &QSpinBox::valueChanged, this, [this](int number) {
        if (number != m_wanted)
            wantStep(number);
    });
    connect(m_align, &QComboBox::activated, this, [this] { applyChoice(); });
    connect(m_view, &QTableView::activated, this, [this](const QModelIndex& index) {
        const int lane = index.data(RanksModel::kLaneRole).toInt();
        const report::RankLane& own = m_model.step()->lanes[static_cast<std::size_t>(lane)];
        emit laneWanted(own.processId, own.startNs, own.endNs);
    });
    setSteps({}, tr("No trace is open."));
}

void RanksDock::setTheme(const Theme& theme) {
    m_delegate->setTheme(&theme);
    m_view->viewport()->update();
    m_legend->setTheme(theme);
}

void RanksDock::setSteps(const std::vector<qint64>& steps, const QString& reason) {
    m_steps = steps;
    m_wanted = -1;
    m_step->blockSignals(true);
    m_step->setRange(steps.empty() ? 0 : static_cast<int>(steps.front()),
        steps.empty() ? 0 : static_cast<int>(steps.back()));
    m_step->blockSignals(false);
    m_step->setEnabled(!steps.empty());
    setReason(steps.empty() ? reason : tr("Choose a step, or press X on the timeline."));
}

void RanksDock::setReason(const QString& text) {
    m_model.setStep(nullptr);
    m_align->clear();
    m_align->setEnabled(false);
    m_summary->setText(text);
    m_notes->hide();
}

void RanksDock::wantStep(qint64 number) {
    if (m_steps.empty())
        return;
    auto next = std::lower_bound(m_steps.begin(), m_steps.end(), number);
    if (next == m_steps.end() || (next != m_steps.begin() && number < m_wanted && *next != number))
        --next; // downwards: the one below
    m_wanted = *next;
    m_step->setValue(static_cast<int>(m_wanted));
    emit stepWanted(m_wanted);
}

void RanksDock::setStep(const StepPtr& step) {
    if (m_wanted >= 0 && step->step != m_wanted)
        return; // another was chosen meanwhile
    m_model.setStep(step);
    showStep();
    if (std::exchange(m_focusWhenShown, false) && m_step->hasFocus())
        m_view->setFocus();
}

void RanksDock::showStep() {
    const StepPtr& step = m_model.step();
    m_align->clear();
    m_align->addItem(tr("common clock"), -2);
    m_align->addItem(tr("start of the step"), -1);
    const int shown = std::min<int>(kMostCollectives, static_cast<int>(step->collectives.size()));
    for (int i = 0; i < shown; ++i)
        m_align->addItem(tr("end of %1").arg(m_model.collectiveText(static_cast<std::size_t>(i))), i);
    m_align->setEnabled(true);
    m_align->setCurrentIndex(step->oneClock ? 0 : 1);
    applyChoice();
    m_summary->setText(step->slowest ? tr("Slowest: %1.").arg(QString::fromStdString(step->slowestWhy))
                                     : tr("No rank holds the others up."));
    QStringList notes;
    for (const std::string& note : step->notes)
        notes += QString::fromStdString(note);
    if (step->collectives.size() > static_cast<std::size_t>(shown))
        notes += tr("only the first %1 collectives can be chosen").arg(shown);
    m_notes->setTextFormat(Qt::PlainText);
    m_notes->setText(notes.join(QStringLiteral(" · ")));
    m_notes->setVisible(!notes.isEmpty());
    if (m_sorted->rowCount() > 0)
        m_view->setCurrentIndex(m_sorted->index(0, 0));
}

void RanksDock::setAlignmentChoice(int choice) {
    if (choice >= 0 && choice < m_align->count()) {
        m_align->setCurrentIndex(choice);
        applyChoice();
    }
}

void RanksDock::applyChoice() {
    const int what = m_align->currentData().toInt();
    using At = RankAlignment::At;
    m_model.setAlignment({what == -2 ? At::clock
            : what == -1             ? At::stepStart
                                     : At::collective,
        static_cast<std::size_t>(std::max(0, what))});
    m_align->setToolTip(m_align->currentText());
    static_cast<RanksTable*>(m_view)->fitLanes();
}

void RanksDock::focusTable() {
    const bool isThere = m_model.rowCount() > 0;
    m_focusWhenShown = !isThere && !m_steps.empty();
    if (isThere)
        m_view->setFocus();
    else
        m_step->setFocus();
}

QString RanksDock::summary() const {
    return m_summary->text();
}

QString RanksDock::notes() const {
    return m_notes->isVisibleTo(widget()) ? m_notes->text() : QString();
}

} // namespace gd::gui
