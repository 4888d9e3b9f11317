// SPDX-License-Identifier: Apache-2.0
// The window's part in the comparison of ranks: which step it is of, and the way back to the timeline.
#include "gui/app/main_window.h"

#include <QTableView>

#include <charconv>

namespace gd::gui {
namespace {

// The number of a step row's event, "step 12 (warmup)", in any language; nullopt: it has none.
std::optional<qint64> stepNumber(const std::string& name) {
    const std::size_t first = name.find_first_of("0123456789");
    qint64 value = 0;
    if (first == std::string::npos
        || std::from_chars(name.data() + first, name.data() + name.size(), value).ec != std::errc())
        return std::nullopt;
    return value;
}

} // namespace

void MainWindow::connectRanks() {
    connect(m_ranks, &RanksDock::stepWanted, this, [this](qint64 step) { m_session->requestRanks(step); });
    connect(m_ranks, &RanksDock::laneWanted, this, [this](qint64 process, qint64 from, qint64 to) {
        m_timeline->showInterval(from, to, 0.1);
        m_timeline->showProcess(process);
    });
}

// The step of the finding, else the one that holds the selected event or the middle of the view: of its
// process, or of the first that has one there.
std::optional<qint64> MainWindow::stepOfSelection() const {
    const int finding = m_timeline->selectedFinding();
    const int count = m_report ? static_cast<int>(m_report->report.findings.size()) : 0;
    std::int64_t process = -1;
    const TimeScale& scale = m_timeline->scale();
    std::int64_t at = scale.nsAt(m_timeline->plotWidth() / 2.0);
    if (finding >= 0 && finding < count) {
        const rules::Finding& chosen = m_report->report.findings[static_cast<std::size_t>(finding)];
        if (chosen.step)
            return *chosen.step;
        process = chosen.processId.value();
        at = chosen.startNs.value_or(at);
    } else if (const EventKey& event = m_timeline->selectedEvent()) {
        process = event.row->process;
        at = event.startNs();
    }
    for (const bool anyProcess : {false, true}) {
        for (const RowPtr& row : m_timeline->layout().rows()) {
            if (row->kind != RowKind::step || (!anyProcess && row->process != process))
                continue;
            for (const auto& lane : row->lanes) {
                const std::size_t i = lane->firstEndingAfter(at);
                if (i < lane->size() && lane->start(i) <= at)
                    return stepNumber((*m_session->names())[lane->name(i)].text);
            }
        }
    }
    return std::nullopt;
}

void MainWindow::showRanks() {
    m_ranks->show();
    m_ranks->raise();
    if (const auto step = m_session ? stepOfSelection() : std::nullopt)
        m_ranks->wantStep(*step);
    m_ranks->focusTable();
}

} // namespace gd::gui
