// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <QStringList>

namespace gd::gui {

// Languages that this build can speak, by Qt's names: "en" and those of the embedded translations.
QStringList languages();

// Chooses one for the program, before any window is made: the named one, or for an empty name the user's
// (by locale) where there is a translation, else English. Fails in one sentence on a name that is not there.
Result<void> speak(const QString& language);

} // namespace gd::gui
