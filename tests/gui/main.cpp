// SPDX-License-Identifier: Apache-2.0
// Runs GoogleTest inside a Qt application that needs no display and looks the same everywhere.
#include <QApplication>
#include <QFont>
#include <QStyleFactory>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    ::setenv("QT_QPA_PLATFORM", "offscreen", 0);
    ::unsetenv("QT_STYLE_OVERRIDE");
    ::unsetenv("VISUAL");
    ::unsetenv("EDITOR");
    testing::InitGoogleTest(&argc, argv);
    QApplication application(argc, argv);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
    return RUN_ALL_TESTS();
}
