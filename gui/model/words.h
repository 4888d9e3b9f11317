// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QString>

#include <concepts>
#include <string>
#include <string_view>

namespace gd::gui {

// Texts of the models in the user's language. Safe in every thread once the program has chosen a language.
class Words {
    Q_DECLARE_TR_FUNCTIONS(gd::gui::Words)

public:
    // A text with its places %1, %2 ... filled by texts and whole numbers, as UTF-8. Places inside of what is
    // filled in stay as they are.
    template <class... Parts> static std::string fill(const QString& text, const Parts&... parts) {
        if constexpr (sizeof...(parts) == 0)
            return text.toStdString();
        else
            return text.arg(shown(parts)...).toStdString();
    }

private:
    static QString shown(std::string_view part) {
        return QString::fromUtf8(part.data(), static_cast<qsizetype>(part.size()));
    }
    static QString shown(std::integral auto part) { return QString::number(part); }
};

} // namespace gd::gui
