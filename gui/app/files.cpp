// SPDX-License-Identifier: Apache-2.0
// The window's files: what it opens, remembers and keeps beside a trace.
#include "gui/app/compare_window.h"
#include "gui/app/main_window.h"
#include "gui/app/whole_file.h"

#include <QAction>
#include <QCloseEvent>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QUrl>

namespace gd::gui {
namespace {

constexpr QLatin1String kRecent("recent");
constexpr int kMostRecent = 10;
constexpr int kWidestRecent = 160; // letters
// Between the files of one job: no name of a file holds it.
constexpr QChar kBetween(u'\0');

// As a menu shows it: the whole set.
QString shownSet(const QStringList& paths) {
    QStringList names;
    for (const QString& path : paths)
        names += QDir::toNativeSeparators(path);
    return names.join(QStringLiteral(", ")).replace(QLatin1Char('&'), QLatin1String("&&")); // no mnemonic
}

} // namespace

void MainWindow::chooseTrace() {
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Open a trace"), QFileInfo(m_path).absolutePath(), tr("Traces (*.gdt);;All files (*)"));
    if (!paths.isEmpty())
        openJob(paths);
}

void MainWindow::chooseFolder() {
    const QString path = QFileDialog::getExistingDirectory(
        this, tr("Open a spool folder"), QFileInfo(m_path).absolutePath());
    if (!path.isEmpty())
        openTrace(path);
}

void MainWindow::chooseOther() {
    if (m_paths.size() != 1) {
        statusBar()->showMessage(m_paths.isEmpty() ? tr("Open a trace first: it is the base")
                                                   : tr("Traces of several files cannot be compared"),
            8000);
        return;
    }
    const QString other = QFileDialog::getOpenFileName(this, tr("Compare with this trace"),
        QFileInfo(m_path).absolutePath(), tr("Traces (*.gdt);;All files (*)"));
    if (!other.isEmpty())
        compareWith(other);
}

CompareWindow* MainWindow::compareWith(const QString& other) {
    auto* const window = new CompareWindow(m_forced); // deletes itself
    window->setAttribute(Qt::WA_DeleteOnClose);
    if (!m_rulesFolder.isEmpty())
        window->setRulesFolder(m_rulesFolder);
    window->resize(size());
    window->show();
    window->open(m_path, other);
    return window;
}

// Only what could be opened: each job with all of its files.
void MainWindow::addRecent() {
    if (!m_keepsSettings)
        return;
    QSettings settings;
    QStringList jobs = settings.value(kRecent).toStringList();
    QStringList paths;
    for (const QString& path : m_paths)
        paths += QFileInfo(path).absoluteFilePath();
    const QString job = paths.join(kBetween);
    jobs.removeAll(job);
    jobs.prepend(job);
    settings.setValue(kRecent, jobs.mid(0, kMostRecent));
    fillRecent();
}

void MainWindow::fillRecent() {
    m_recent->clear();
    for (const QString& job : QSettings().value(kRecent).toStringList()) {
        const QStringList paths = job.split(kBetween);
        QAction* const action = m_recent->addAction(m_recent->fontMetrics().elidedText(
            shownSet(paths), Qt::ElideMiddle, m_recent->fontMetrics().averageCharWidth() * kWidestRecent));
        action->setToolTip(paths.join(QLatin1Char('\n')));
        connect(action, &QAction::triggered, this, [this, paths] { openJob(paths); });
    }
    m_recent->setEnabled(!m_recent->isEmpty());
}

void MainWindow::keepMarks() {
    const QString path = m_path + QStringLiteral(".marks");
    QByteArray text;
    for (const std::int64_t mark : m_timeline->marks())
        text += QByteArray::number(static_cast<qint64>(mark)) + '\n';
    if (const QString problem = writeWhole(path, text); !problem.isEmpty())
        statusBar()->showMessage(tr("Marks cannot be kept in %1: %2").arg(path, problem), 8000);
}

void MainWindow::loadMarks() {
    QFile file(m_path + QStringLiteral(".marks"));
    if (!file.open(QIODevice::ReadOnly))
        return;
    std::vector<std::int64_t> marks;
    for (int i = 0; i < 10'000 && !file.atEnd(); ++i) {
        bool good = false;
        const qint64 time = file.readLine(64).trimmed().toLongLong(&good);
        if (good)
            marks.push_back(time);
    }
    m_timeline->setMarks(std::move(marks));
}

void MainWindow::useSettings() {
    m_keepsSettings = true;
    const QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("layout")).toByteArray());
    m_onlyUsedRows->setChecked(settings.value(QStringLiteral("onlyUsedRows"), false).toBool());
    m_animate->setChecked(settings.value(QStringLiteral("animate"), true).toBool());
    fillRecent();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_keepsSettings) {
        QSettings settings;
        settings.setValue(QStringLiteral("geometry"), saveGeometry());
        settings.setValue(QStringLiteral("layout"), saveState());
        settings.setValue(QStringLiteral("onlyUsedRows"), m_onlyUsedRows->isChecked());
        settings.setValue(QStringLiteral("animate"), m_animate->isChecked());
    }
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().front().isLocalFile())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) {
        if (url.isLocalFile())
            paths += url.toLocalFile();
    }
    if (!paths.isEmpty())
        openJob(paths);
}

} // namespace gd::gui
