// SPDX-License-Identifier: Apache-2.0
#include "gui/app/options.h"

#include "analyzer/base/time.h"

#include <charconv>
#include <filesystem>
#include <optional>

namespace gd::gui {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
        return std::nullopt;
    return value;
}

Result<FirstView> parseView(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = std::string_view(text).substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    FirstView view;
    if (kind == "finding" || kind == "step" || kind == "ranks") {
        view.what = kind == "finding" ? FirstView::What::finding
            : kind == "step"          ? FirstView::What::step
                                      : FirstView::What::ranks;
        const auto value = number(rest);
        if (!value || (kind == "finding" && *value == 0))
            return fail(ErrorCode::usage, "--view {}: a number is expected after the colon{}", text,
                kind == "finding" ? ", 1 for the first finding" : "");
        view.number = *value;
        return view;
    }
    const std::size_t dots = rest.find("..");
    if (kind == "range" && dots != std::string::npos) {
        view.what = FirstView::What::range;
        // "0..2s": zero needs no unit.
        const auto time = [&](const std::string& part) -> Result<std::int64_t> {
            if (part == "0")
                return std::int64_t{0};
            return base::parseDuration(part).context("--view {}", text);
        };
        GD_TRY_ASSIGN(view.fromNs, time(rest.substr(0, dots)));
        GD_TRY_ASSIGN(view.toNs, time(rest.substr(dots + 2)));
        if (view.fromNs >= view.toNs)
            return fail(ErrorCode::usage, "--view {}: the range must end after its start", text);
        return view;
    }
    return fail(ErrorCode::usage, "--view {}: finding:N, step:N, ranks:N or range:A..B is expected", text);
}

Result<void> parseSize(const std::string& text, Options& options) {
    const std::size_t times = text.find('x');
    const auto width = number(std::string_view(text).substr(0, times));
    const auto height
        = times == std::string::npos ? std::nullopt : number(std::string_view(text).substr(times + 1));
    if (!width || !height || *width < 320 || *height < 240 || *width > 16384 || *height > 16384)
        return fail(
            ErrorCode::usage, "--size {}: WIDTHxHEIGHT from 320x240 to 16384x16384 is expected", text);
    options.width = static_cast<int>(*width);
    options.height = static_cast<int>(*height);
    return {};
}

// Renaming onto a device, a pipe or a trace would take it away from everybody.
Result<void> checkPicture(const Options& options) {
    std::error_code error;
    const auto status = std::filesystem::status(options.screenshot, error);
    if (options.screenshot.empty() || !std::filesystem::exists(status))
        return {};
    if (!std::filesystem::is_regular_file(status))
        return fail(ErrorCode::io, "{} is not a regular file; a picture needs one", options.screenshot);
    for (const std::string& trace : options.traces) {
        if (std::filesystem::equivalent(options.screenshot, trace, error))
            return fail(ErrorCode::usage, "--screenshot {} is the trace itself", options.screenshot);
    }
    return {};
}

} // namespace

Result<Options> parseOptions(const std::vector<std::string>& arguments) {
    Options options;
    bool onlyNames = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (onlyNames || argument.empty() || argument[0] != '-' || argument == "-") {
            options.traces.push_back(argument);
            continue;
        }
        if (argument == "--") {
            onlyNames = true;
            continue;
        }
        if (argument == "--compare") {
            options.compare = true;
            continue;
        }
        if (argument == "--help" || argument == "-h") {
            options.help = true;
            continue;
        }
        const std::size_t equals = argument.find('=');
        const std::string name = argument.substr(0, equals);
        if (name != "--screenshot" && name != "--view" && name != "--size" && name != "--theme"
            && name != "--language")
            return fail(ErrorCode::usage, "{} is not an option; see graphdoctor-gui --help", argument);
        if (equals == std::string::npos && i + 1 == arguments.size())
            return fail(ErrorCode::usage, "{} needs a value", name);
        const std::string value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
        if (name == "--screenshot") {
            if (value.empty())
                return fail(ErrorCode::usage, "--screenshot needs the name of a file");
            options.screenshot = value;
        } else if (name == "--theme") {
            if (value != "light" && value != "dark")
                return fail(ErrorCode::usage, "--theme {}: light or dark is expected", value);
            options.theme = value;
        } else if (name == "--language") {
            options.language = value;
        } else if (name == "--size") {
            GD_TRY(parseSize(value, options));
        } else {
            GD_TRY_ASSIGN(const FirstView view, parseView(value));
            options.views.push_back(view);
        }
    }
    if (!options.screenshot.empty() && options.traces.empty())
        return fail(ErrorCode::usage, "--screenshot needs a trace");
    GD_TRY(checkPicture(options));
    if (options.compare && options.traces.size() != 2)
        return fail(
            ErrorCode::usage, "--compare needs two traces, BASE and NEW, not {}", options.traces.size());
    for (const FirstView& view : options.views) {
        if (options.compare && view.what != FirstView::What::step)
            return fail(ErrorCode::usage, "with --compare only --view step:N can be shown first");
    }
    return options;
}

std::string helpText() {
    return "Look at a GraphDoctor trace, or at a spool folder, on a timeline.\n\n"
           "Usage: graphdoctor-gui [OPTIONS] [TRACE]\n"
           "       graphdoctor-gui [OPTIONS] TRACE TRACE…       traces of several ranks of one job\n"
           "       graphdoctor-gui [OPTIONS] --compare BASE NEW two runs, one above the other\n\n"
           "  --screenshot FILE.png   draw into this file and exit; needs no display\n"
           "  --view WHAT             what to show first: finding:N (1 = the one to fix first),\n"
           "                          step:N, ranks:N (the ranks of step N beside each other) or\n"
           "                          range:A..B, such as range:1.5s..2s; given twice,\n"
           "                          finding:1 and a range, it selects the one and shows the other\n"
           "  --size WxH              size of the window or picture (1600x900)\n"
           "  --theme light|dark      default: as the desktop\n"
           "  --language LANG         en or zh_CN; default: by the locale\n"
           "  -h, --help              print this\n\n"
           "Exit status: 0 fine, 2 wrong usage, 3 the trace or the display cannot be used.\n";
}

} // namespace gd::gui
