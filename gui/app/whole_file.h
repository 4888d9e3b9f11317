// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QString>

namespace gd::gui {

// Writes a file whole or not at all: the one that was there stays until then. Empty: done; otherwise the
// system's reason, such as "No space left on device".
QString writeWhole(const QString& path, const QByteArray& content);

} // namespace gd::gui
