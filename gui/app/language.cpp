// SPDX-License-Identifier: Apache-2.0
#include "gui/app/language.h"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

// Outside of namespaces, as Qt's macro wants it.
static void makeTranslationsKnown() {
#ifdef GD_TRANSLATIONS
    Q_INIT_RESOURCE(graphdoctor_translations);
#endif
}

namespace gd::gui {
namespace {

const char* const kFolder = ":/translations";

// The translation for a list of wishes such as "zh-Hans-CN"; empty: none.
QString fitting(const QStringList& wishes, const QStringList& there) {
    for (const QString& wish : wishes) {
        const QLocale locale(wish);
        if (locale.language() == QLocale::English)
            return {};
        for (const QString& name : there) {
            const QLocale offered(name);
            if (offered.language() == locale.language() && offered.script() == locale.script())
                return name;
        }
    }
    return {};
}

} // namespace

QStringList languages() {
    makeTranslationsKnown();
    QStringList out = {QStringLiteral("en")};
    for (QString name : QDir(QString::fromLatin1(kFolder)).entryList()) {
        name.remove(QStringLiteral("graphdoctor_"));
        name.remove(QStringLiteral(".qm"));
        if (!out.contains(name)) // English has a file too: of its plural forms
            out << name;
    }
    return out;
}

Result<void> speak(const QString& language) {
    const QStringList there = languages();
    if (!language.isEmpty() && !there.contains(language))
        return fail(ErrorCode::usage, "--language {}: this build speaks {}", language.toStdString(),
            there.join(QStringLiteral(", ")).toStdString());
    const QString name
        = !language.isEmpty() ? language : fitting(QLocale::system().uiLanguages(), there.mid(1));
    const bool isEnglish = name.isEmpty() || name == QLatin1String("en");
    // Qt's own buttons and dialogs, where its translations are installed.
    const QString shown = isEnglish ? QStringLiteral("en") : name;
    for (const auto& [file, folder] :
        {std::pair(QStringLiteral("qtbase_") + shown, QLibraryInfo::path(QLibraryInfo::TranslationsPath)),
            std::pair(QStringLiteral("graphdoctor_") + shown, QString::fromLatin1(kFolder))}) {
        auto* const translator = new QTranslator(QCoreApplication::instance());
        if (translator->load(file, folder))
            QCoreApplication::installTranslator(translator);
    }
    return {};
}

} // namespace gd::gui
