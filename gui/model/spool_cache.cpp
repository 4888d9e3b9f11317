// SPDX-License-Identifier: Apache-2.0
#include "gui/model/spool_cache.h"

#include "analyzer/base/db.h"
#include "analyzer/facts/facts.h"
#include "analyzer/import/importer.h"
#include "gui/model/words.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <unistd.h>

#include <filesystem>
#include <span>

namespace gd::gui {
namespace {

constexpr int kKept = 5;

// Of the names, sizes and times of all files: another one when the job went on or another took its place.
QString fingerprint(const QFileInfo& spool) {
    QCryptographicHash hash(QCryptographicHash::Sha256);
    const auto add = [&hash](const QFileInfo& file) {
        hash.addData(QStringLiteral("%1 %2 %3\n")
                         .arg(file.absoluteFilePath())
                         .arg(file.size())
                         .arg(file.lastModified().toMSecsSinceEpoch())
                         .toUtf8());
    };
    if (spool.isDir()) {
        for (const QFileInfo& file :
            QDir(spool.absoluteFilePath()).entryInfoList(QDir::Files | QDir::Hidden, QDir::Name))
            add(file);
    } else {
        add(spool);
    }
    hash.addData(QByteArray::number(static_cast<qlonglong>(facts::kFactsVersion)));
    return QString::fromLatin1(hash.result().toHex().left(32));
}

void dropOld(const QDir& folder) {
    const QFileInfoList files
        = folder.entryInfoList({QStringLiteral("spool-*.gdt")}, QDir::Files, QDir::Time); // newest first
    for (qsizetype i = kKept; i < files.size(); ++i)
        QFile::remove(files[i].absoluteFilePath());
}

Result<void> make(std::span<const std::filesystem::path> spools, const std::string& out,
    const importer::ImportOptions& options) {
    GD_TRY(importer::importSpools(spools, out, options));
    GD_TRY_ASSIGN(auto db, Db::openReadWrite(out));
    GD_TRY(facts::buildFacts(db, {}));
    return db.close();
}

} // namespace

bool isSpool(const std::string& path) {
    const QFileInfo info(QString::fromStdString(path));
    return info.isDir() || info.suffix() == QLatin1String("seg");
}

Result<std::string> traceOfSpool(const std::string& spool,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress, const std::atomic<bool>& stop) {
    const QDir folder(QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation)
        + QStringLiteral("/graphdoctor"));
    if (!folder.mkpath(QStringLiteral(".")))
        return fail(ErrorCode::io, "{}",
            Words::fill(
                Words::tr("%1 cannot be made, and a spool is imported there"), folder.path().toStdString()));
    const QFileInfo source(QString::fromStdString(spool));
    const QString out = folder.filePath(QStringLiteral("spool-%1.gdt").arg(fingerprint(source)));
    if (QFileInfo::exists(out))
        return out.toStdString();
    importer::ImportOptions options;
    options.force = true;
    options.progress = progress;
    options.stop = &stop;
    options.sourcePath = spool;
    const std::filesystem::path folders[] = {source.absoluteFilePath().toStdString()};
    const std::string making = fmt::format("{}.{}.making", out.toStdString(), ::getpid());
    const auto made = make(folders, making, options);
    std::error_code error;
    if (made)
        std::filesystem::rename(making, out.toStdString(), error);
    std::error_code gone;
    std::filesystem::remove(making, gone); // it is there still when something went wrong
    GD_TRY(made);
    if (error)
        return fail(ErrorCode::io, "{}: {}", out.toStdString(), error.message());
    dropOld(folder);
    return out.toStdString();
}

} // namespace gd::gui
