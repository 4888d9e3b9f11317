// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/text.h"
#include "gui/app/language.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"

#include <QApplication>
#include <QBuffer>
#include <QSaveFile>
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

int takeScreenshot(gd::gui::MainWindow& window, const gd::gui::Options& options) {
    QObject::connect(&window, &gd::gui::MainWindow::traceLoaded, &window, [&window, &options] {
        if (!window.failure().isEmpty()) {
            say(window.failure().toStdString());
            QApplication::exit(3);
            return;
        }
        const QString problem = showAll(window, options.views);
        if (!problem.isEmpty()) {
            say(problem.toStdString());
            QApplication::exit(2);
            return;
        }
        QApplication::processEvents();
        window.timeline()->settle();
        window.minimap()->settle();
        QByteArray picture;
        QBuffer buffer(&picture);
        QSaveFile file(QString::fromStdString(options.screenshot)); // whole or not at all
        if (!window.grab().save(&buffer, "PNG") || !file.open(QIODevice::WriteOnly)
            || file.write(picture) != picture.size() || !file.commit()) {
            say(options.screenshot + " cannot be written as a PNG file");
            QApplication::exit(3);
            return;
        }
        QApplication::exit(0);
    });
    window.openTrace(QString::fromStdString(options.trace));
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
        Qt::SingleShotConnection);
    if (!options->trace.empty())
        window.openTrace(QString::fromStdString(options->trace));
    return QApplication::exec();
}
