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

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <span>
#include <thread>

namespace gd::gui {
namespace {

constexpr std::size_t kKept = 5;
constexpr std::chrono::hours kStale{1}; // an import writes more often

// One import at a time: both sides of a comparison may name the same spool.
std::mutex g_importing;

QDir cacheFolder() {
    return QDir(QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation)
        + QStringLiteral("/graphdoctor"));
}

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

// Whether it is there. Its time says when it was used last.
bool use(const QString& trace) {
    std::error_code error; // of another user's file: it can be read all the same
    std::filesystem::last_write_time(
        trace.toStdString(), std::filesystem::file_time_type::clock::now(), error);
    return QFileInfo::exists(trace);
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
    const QDir folder = cacheFolder();
    if (!folder.mkpath(QStringLiteral(".")))
        return fail(ErrorCode::io, "{}",
            Words::fill(
                Words::tr("%1 cannot be made, and a spool is imported there"), folder.path().toStdString()));
    const QFileInfo source(QString::fromStdString(spool));
    const QString out = folder.filePath(QStringLiteral("spool-%1.gdt").arg(fingerprint(source)));
    std::unique_lock turn(g_importing, std::try_to_lock);
    for (; !turn.owns_lock(); turn.try_lock()) {
        if (stop)
            return fail(ErrorCode::timeLimit, "stopped before the end");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (use(out))
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
    return out.toStdString();
}

void dropOldTraces(std::size_t inUse) {
    const QDir folder = cacheFolder();
    const QFileInfoList traces
        = folder.entryInfoList({QStringLiteral("spool-*.gdt")}, QDir::Files, QDir::Time); // newest first
    for (auto i = static_cast<qsizetype>(std::max(kKept, inUse)); i < traces.size(); ++i)
        QFile::remove(traces[i].absoluteFilePath());
    const QDateTime stale = QDateTime::currentDateTimeUtc().addSecs(-std::chrono::seconds(kStale).count());
    for (const QFileInfo& left :
        folder.entryInfoList({QStringLiteral("spool-*.making")}, QDir::Files)) // of an import that was killed
        if (left.lastModified() < stale)
            QFile::remove(left.absoluteFilePath());
}

} // namespace gd::gui
