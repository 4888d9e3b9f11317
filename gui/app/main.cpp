// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/text.h"
#include "gui/app/compare_window.h"
#include "gui/app/language.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/app/whole_file.h"

#include <QApplication>
#include <QBuffer>
#include <QEventLoop>
#include <QStyleFactory>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool g_picture = false; // of the running program: no display is needed

void say(const std::string& sentence) {
    const std::string line = fmt::format("graphdoctor-gui: {}\n", gd::base::escapeForTerminal(sentence));
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// Qt ends the program with abort() when no platform plugin works; one sentence is worth more than a core.
void onMessage(QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type == QtFatalMsg) {
        say(g_picture ? "Qt cannot draw here: its platform plugin offscreen (or the one that QT_QPA_PLATFORM "
                        "names) "
                        "is not installed where Qt looks, and QT_PLUGIN_PATH can name another folder"
                      : "there is no display that can be used; --screenshot FILE.png needs none, and "
                        "QT_QPA_PLATFORM chooses another Qt platform");
        ::_exit(3);
    }
    if (type == QtCriticalMsg)
        say(text.toStdString());
}

bool hasDisplay() {
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
        const char* value = std::getenv(name);
        if (value != nullptr && *value != '\0')
            return true;
    }
    return false;
}

QStringList pathsOf(const gd::gui::Options& options) {
    QStringList paths;
    for (const std::string& trace : options.traces)
        paths += QString::fromStdString(trace);
    return paths;
}

// What is shown first may wait for a worker's answer, and letters of workers are not delivered inside one of
// them.
constexpr Qt::ConnectionType kLater = Qt::QueuedConnection;

// Waits for the answer: it comes from a worker.
QString showRanks(gd::gui::MainWindow& window, qint64 step) {
    QEventLoop loop;
    QObject::connect(&window, &gd::gui::MainWindow::ranksAnswered, &loop, &QEventLoop::quit);
    gd::gui::RanksDock& ranks = *window.ranks();
    ranks.show();
    ranks.raise();
    ranks.wantStep(step);
    if (ranks.hasSteps())
        loop.exec();
    const gd::gui::StepPtr& shown = ranks.model().step();
    if (shown && shown->step == step)
        return {};
    return QStringLiteral("--view ranks:%1: %2")
        .arg(step)
        .arg(shown ? QStringLiteral("no two ranks have this step") : ranks.summary());
}

// Empty: done. Otherwise why it cannot be shown.
QString showFirst(gd::gui::MainWindow& window, const gd::gui::FirstView& view) {
    using What = gd::gui::FirstView::What;
    const int count = window.findings()->model().findingCount();
    switch (view.what) {
    case What::all:
        return {};
    case What::finding:
        if (view.number > count)
            return QStringLiteral("--view finding:%1: the trace has %2 findings").arg(view.number).arg(count);
        window.findings()->select(static_cast<int>(view.number) - 1);
        return {};
    case What::step:
        return window.showStep(view.number)
            ? QString()
            : QStringLiteral("--view step:%1: the trace has no such step").arg(view.number);
    case What::ranks:
        return showRanks(window, view.number);
    case What::range:
        window.timeline()->showInterval(view.fromNs, view.toNs, 0);
        return {};
    }
    return {};
}

QString showAll(gd::gui::MainWindow& window, const std::vector<gd::gui::FirstView>& views) {
    for (const gd::gui::FirstView& view : views) {
        if (const QString problem = showFirst(window, view); !problem.isEmpty())
            return problem;
    }
    return {};
}

// Whole or not at all.
int writePicture(QWidget& window, const std::string& path) {
    QByteArray picture;
    QBuffer buffer(&picture);
    if (!window.grab().save(&buffer, "PNG")) {
        say(path + " cannot be written: Qt cannot make PNG files here, or the picture needs more memory");
        return 3;
    }
    const QString problem = gd::gui::writeWhole(QString::fromStdString(path), picture);
    if (!problem.isEmpty())
        say(fmt::format("{} cannot be written: {}", path, problem.toStdString()));
    return problem.isEmpty() ? 0 : 3;
}

int refusePicture(const QString& sentence, int status) {
    say(sentence.toStdString());
    return status;
}

int pictureOf(gd::gui::MainWindow& window, const gd::gui::Options& options) {
    if (!window.failure().isEmpty())
        return refusePicture(window.failure(), 3);
    if (const QString problem = showAll(window, options.views); !problem.isEmpty())
        return refusePicture(problem, 2);
    QApplication::processEvents();
    window.timeline()->settle();
    window.minimap()->settle();
    return writePicture(window, options.screenshot);
}

int takeScreenshot(gd::gui::MainWindow& window, const gd::gui::Options& options) {
    QObject::connect(
        &window, &gd::gui::MainWindow::traceLoaded, &window,
        [&window, &options] { QApplication::exit(pictureOf(window, options)); }, kLater);
    window.openJob(pathsOf(options));
    return QApplication::exec();
}

// Empty: done. Otherwise why the step cannot be shown.
QString showCompared(gd::gui::CompareWindow& window, const gd::gui::Options& options) {
    for (const gd::gui::FirstView& view : options.views) {
        if (!window.showStep(view.number))
            return QStringLiteral("--view step:%1: the traces have no such step in common").arg(view.number);
    }
    return {};
}

int runCompare(const gd::gui::Theme* theme, const gd::gui::Options& options) {
    gd::gui::CompareWindow window(theme);
    window.resize(options.width, options.height);
    if (options.screenshot.empty())
        window.useSettings();
    window.show();
    QObject::connect(&window, &gd::gui::CompareWindow::compareLoaded, &window, [&window, &options] {
        const bool picture = !options.screenshot.empty();
        const QString problem = window.failure().isEmpty() ? showCompared(window, options) : window.failure();
        if (!picture && !problem.isEmpty() && window.failure().isEmpty())
            say(problem.toStdString());
        if (!picture)
            return;
        window.settle();
        QApplication::exit(problem.isEmpty() ? writePicture(window, options.screenshot)
                                             : refusePicture(problem, window.failure().isEmpty() ? 2 : 3));
    });
    const QStringList paths = pathsOf(options);
    window.open(paths[0], paths[1]);
    return QApplication::exec();
}

} // namespace

int main(int argc, char** argv) {
    const auto options = gd::gui::parseOptions(std::vector<std::string>(argv + 1, argv + argc));
    if (!options) {
        say(options.error().message);
        return gd::base::exitStatus(options.error().code);
    }
    if (options->help) {
        std::fputs(gd::gui::helpText().c_str(), stdout);
        return 0;
    }
    const bool picture = !options->screenshot.empty();
    g_picture = picture;
    if (picture)
        ::setenv("QT_QPA_PLATFORM", "offscreen", 0);
    qInstallMessageHandler(onMessage);
    if (!picture && !hasDisplay())
        qFatal("no display");

    QApplication application(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("graphdoctor"));
    QApplication::setApplicationName(QStringLiteral("graphdoctor-gui"));
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    // Pictures are the same everywhere unless a language is named.
    const std::string language = options->language.empty() && picture ? "en" : options->language;
    if (const auto chosen = gd::gui::speak(QString::fromStdString(language)); !chosen) {
        say(chosen.error().message);
        return gd::base::exitStatus(chosen.error().code);
    }
    const gd::gui::Theme* theme = nullptr;
    if (options->theme == "dark")
        theme = &gd::gui::Theme::dark();
    else if (options->theme == "light" || picture)
        theme = &gd::gui::Theme::light();

    if (options->compare)
        return runCompare(theme, *options);
    gd::gui::MainWindow window(theme);
    window.resize(options->width, options->height);
    if (!picture)
        window.useSettings();
    window.show();
    if (picture)
        return takeScreenshot(window, *options);
    QObject::connect(
        &window, &gd::gui::MainWindow::traceLoaded, &window,
        [&window, &options] {
            if (const QString problem
                = window.failure().isEmpty() ? showAll(window, options->views) : QString();
                !problem.isEmpty())
                say(problem.toStdString());
        },
        static_cast<Qt::ConnectionType>(kLater | Qt::SingleShotConnection));
    if (!options->traces.empty())
        window.openJob(pathsOf(*options));
    return QApplication::exec();
}
