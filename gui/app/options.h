// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gd::gui {

// What to show first.
struct FirstView {
    enum class What { all, finding, step, range, ranks };
    What what = What::all;
    std::int64_t number = 0; // finding from 1, step, step whose ranks are compared
    std::int64_t fromNs = 0; // range
    std::int64_t toNs = 0;
};

// The command line of graphdoctor-gui. Errors are usage errors, one sentence each.
struct Options {
    std::vector<std::string> traces; // several: of one job, or two to compare
    bool compare = false;
    std::string screenshot; // PNG file, empty: a window
    std::vector<FirstView> views; // applied one after the other
    int width = 1600;
    int height = 900;
    std::string theme; // "light", "dark" or "": as the desktop
    std::string language; // "zh_CN", "en", or "": as the locale says
    bool help = false;
};
Result<Options> parseOptions(const std::vector<std::string>& arguments);
std::string helpText();

} // namespace gd::gui
