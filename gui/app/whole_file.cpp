// SPDX-License-Identifier: Apache-2.0
#include "gui/app/whole_file.h"

#include <QSaveFile>

namespace gd::gui {

QString writeWhole(const QString& path, const QByteArray& content) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return file.errorString();
    // A write that stops in the middle says why only when it is asked to go on, and commit() forgets it.
    for (qint64 written = 0; written < content.size();) {
        const qint64 more = file.write(content.constData() + written, content.size() - written);
        if (more <= 0)
            return file.errorString();
        written += more;
    }
    if (!file.flush() || !file.commit())
        return file.errorString();
    return {};
}

} // namespace gd::gui
